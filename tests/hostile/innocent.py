"""Clients that mean no harm, in a process of their own: they report how long each of their calls takes.

Nothing is imported that an interpreter does not have: `python innocent.py PORT STANDARD EXPRESS` with the ARNs of two
machines. It runs until its standard input is closed, and writes a line of JSON for each call.
"""

import http.client
import itertools
import json
import os
import sys
import threading
import time

# A call that takes longer is given up, and reported as having taken this long.
GIVEN_UP_SECONDS = 20
PAUSE_SECONDS = 0.02
POLL_SECONDS = 0.002


class Away(Exception):
    """The connection was refused or cut."""


class Caller:
    def __init__(self, port):
        self.port = port
        self.connection = None

    def request(self, method, path, body=None, headers=None):
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=GIVEN_UP_SECONDS)
            self.connection.request(method, path, body, headers or {})
            answer = self.connection.getresponse()
            return answer.status, answer.read()
        except TimeoutError:
            self.connection = None
            raise
        except (OSError, http.client.HTTPException) as error:
            self.connection = None
            raise Away(repr(error)) from None

    def call(self, operation, **body):
        usual = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": f"AWSStepFunctions.{operation}"}
        status, answer = self.request("POST", "/", json.dumps(body), usual)
        if status != 200:
            raise AssertionError(f"{operation}: {status} {answer[:300]}")
        return json.loads(answer)


def standard(caller, machine):
    """Starts an execution, and asks for it until it is over."""
    name = f"i-{os.getpid()}-{time.monotonic_ns()}"
    execution = caller.call("StartExecution", stateMachineArn=machine, name=name)["executionArn"]
    deadline = time.monotonic() + GIVEN_UP_SECONDS
    while True:
        status = caller.call("DescribeExecution", executionArn=execution)["status"]
        if status != "RUNNING":
            assert status == "SUCCEEDED", status
            return
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(POLL_SECONDS)


def express(caller, machine):
    status = caller.call("StartSyncExecution", stateMachineArn=machine)["status"]
    assert status == "SUCCEEDED", status


def health(caller, _):
    status, answer = caller.request("GET", "/health")
    assert status == 200, answer


def work(kind, job, port, machine):
    caller = Caller(port)
    for _ in itertools.count():
        began, problem = time.monotonic(), None
        try:
            job(caller, machine)
        except Away as error:
            problem = f"away: {error}"
        except TimeoutError:
            problem = f"not answered within {GIVEN_UP_SECONDS} s"
        except Exception as error:
            problem = str(error) or repr(error)
        line = json.dumps({"kind": kind, "began": began, "ended": time.monotonic(), "problem": problem})
        # One call, so that lines of threads do not mix.
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
        time.sleep(PAUSE_SECONDS)


def main():
    port, standard_machine, express_machine = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    jobs = [("standard", standard, standard_machine), ("express", express, express_machine), ("health", health, None)]
    for kind, job, machine in jobs:
        threading.Thread(target=work, args=(kind, job, port, machine), daemon=True).start()
    sys.stdin.read()
    # The threads may be in the middle of anything.
    os._exit(0)


if __name__ == "__main__":
    main()
