"""Queues through the `aws` command line. That of Debian 12 speaks the query protocol, the one that is installed with the
packages of these tests JSON: both are run."""

import json
import os
import shutil
import subprocess
import sys
import uuid

import pytest

from everstep import REGION, until

PROGRAMS = [os.environ.get("EVERSTEP_AWS_CLI", "aws"), os.path.join(os.path.dirname(sys.executable), "aws")]


@pytest.fixture(scope="module", params=PROGRAMS)
def aws(server, request):
    assert shutil.which(request.param), request.param
    environment = os.environ | {
        "AWS_ACCESS_KEY_ID": "any",
        "AWS_SECRET_ACCESS_KEY": "any",
        "AWS_DEFAULT_REGION": REGION,
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_MAX_ATTEMPTS": "1",
        "AWS_PAGER": "",
    }

    def run(operation, *more, check=True, **options):
        command = [request.param, "sqs", operation, "--endpoint-url", server.url, "--output", "json"]
        for name, value in options.items():
            command += [f"--{name.replace('_', '-')}", str(value)]
        done = subprocess.run([*command, *more], env=environment, capture_output=True, text=True)
        if not check:
            return done
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout or "{}")

    return run


def test_a_message_from_the_sender_to_the_receiver(aws):
    attributes = json.dumps({"VisibilityTimeout": "5"})
    url = aws("create-queue", queue_name=f"cli-{uuid.uuid4()}", attributes=attributes, tags="team=a")["QueueUrl"]
    given = json.dumps({"kind": {"DataType": "String", "StringValue": "a & <b>"}})
    body = 'text with <markup> & "quotes",\r\nlines and ü'
    sent = aws("send-message", queue_url=url, message_body=body, message_attributes=given)
    [message] = aws("receive-message", queue_url=url, attribute_names="All", message_attribute_names="All")["Messages"]
    assert (message["Body"], message["MessageId"]) == (body, sent["MessageId"])
    assert message["MessageAttributes"]["kind"]["StringValue"] == "a & <b>"
    assert message["MD5OfMessageAttributes"] == sent["MD5OfMessageAttributes"]
    handle = message["ReceiptHandle"]
    aws("change-message-visibility", queue_url=url, receipt_handle=handle, visibility_timeout=0)
    [message] = aws("receive-message", queue_url=url)["Messages"]
    aws("delete-message", queue_url=url, receipt_handle=message["ReceiptHandle"])
    assert aws("receive-message", queue_url=url) == {}
    assert aws("list-queue-tags", queue_url=url)["Tags"] == {"team": "a"}


def test_batches_and_counts(aws):
    url = aws("create-queue", queue_name=f"cli-{uuid.uuid4()}")["QueueUrl"]
    entries = json.dumps([{"Id": str(number), "MessageBody": f"m{number}"} for number in range(10)])
    assert len(aws("send-message-batch", queue_url=url, entries=entries)["Successful"]) == 10
    messages = aws("receive-message", queue_url=url, max_number_of_messages=10)["Messages"]
    handles = [{"Id": message["Body"], "ReceiptHandle": message["ReceiptHandle"]} for message in messages]
    handles[0]["ReceiptHandle"] = "garbage"
    deleted = aws("delete-message-batch", queue_url=url, entries=json.dumps(handles))
    assert (len(deleted["Successful"]), [one["Code"] for one in deleted["Failed"]]) == (9, ["ReceiptHandleIsInvalid"])
    found = aws("get-queue-attributes", queue_url=url, attribute_names="All")["Attributes"]
    assert (found["ApproximateNumberOfMessages"], found["ApproximateNumberOfMessagesNotVisible"]) == ("0", "1")
    aws("purge-queue", queue_url=url)
    aws("delete-queue", queue_url=url)


def test_fifo_and_dead_letters(aws):
    name = f"cli-{uuid.uuid4()}"
    fifo = json.dumps({"FifoQueue": "true", "ContentBasedDeduplication": "true"})
    dead = aws("create-queue", queue_name=f"{name}-dead.fifo", attributes=fifo)["QueueUrl"]
    arn = aws("get-queue-attributes", queue_url=dead, attribute_names="QueueArn")["Attributes"]["QueueArn"]
    policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 1})
    attributes = json.dumps(json.loads(fifo) | {"RedrivePolicy": policy, "VisibilityTimeout": "0"})
    url = aws("create-queue", queue_name=f"{name}.fifo", attributes=attributes)["QueueUrl"]
    first = aws("send-message", queue_url=url, message_body="same", message_group_id="g")
    again = aws("send-message", queue_url=url, message_body="same", message_group_id="g")
    assert first["SequenceNumber"] == again["SequenceNumber"]
    assert len(aws("receive-message", queue_url=url)["Messages"]) == 1
    [letter] = until(lambda: aws("receive-message", queue_url=dead).get("Messages"))
    assert letter["MessageId"] == first["MessageId"]
    assert aws("list-dead-letter-source-queues", queue_url=dead)["queueUrls"] == [url]


def test_refusals(aws):
    for operation, options, code in [
        ("get-queue-url", {"queue_name": "none"}, "AWS.SimpleQueueService.NonExistentQueue"),
        ("create-queue", {"queue_name": "a/b"}, "InvalidParameterValue"),
        ("create-queue", {"queue_name": "q", "attributes": '{"Fly": "1"}'}, "InvalidAttributeName"),
    ]:
        done = aws(operation, check=False, **options)
        assert done.returncode in (254, 255) and f"({code})" in done.stderr, done.stderr
