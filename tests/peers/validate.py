"""Reads definitions from standard input, one JSON object {id, definition} a line, and answers with what moto finds in each
when a state machine is created from it: {id, peer, problems} a line."""

import contextlib
import json
import logging
import multiprocessing
import os
import sys

import boto3
from botocore.exceptions import ClientError
from moto import mock_aws

ROLE = "arn:aws:iam::123456789012:role/r"


def problems(client, definition):
    try:
        client.create_state_machine(name="m", definition=json.dumps(definition), roleArn=ROLE)
    except ClientError as error:
        return [error.response["Error"]["Message"].split("\n")[0]]
    except Exception as error:  # What moto does not expect reaches the caller as it is.
        return [f"crashed: {type(error).__name__}: {error}".split("\n")[0]]
    return []


def answer(line):
    case = json.loads(line)
    # The parser writes its own notes.
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        found = problems(CLIENT, case["definition"])
    return json.dumps({"id": case["id"], "peer": "moto", "problems": found})


def main():
    global CLIENT
    logging.disable(logging.CRITICAL)
    with mock_aws(config={"stepfunctions": {"execute_state_machine": True}}):
        CLIENT = boto3.client(
            "stepfunctions", region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x"
        )
        CLIENT.list_state_machines()
        # A process for each: a definition that is refused leaves moto's parser in a state that spoils the next.
        with multiprocessing.get_context("fork").Pool(2, maxtasksperchild=1) as pool:
            for line in pool.imap(answer, list(sys.stdin)):
                print(line)


if __name__ == "__main__":
    main()
