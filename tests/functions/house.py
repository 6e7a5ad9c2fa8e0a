"""A real `everstep serve` with functions, and the file in which its functions leave a line for each call."""

import collections
import http.client
import json
import os
import pathlib
import sys

from everstep import DEADLINE_SECONDS, Server, until

HANDLERS = pathlib.Path(__file__).parent / "handlers"
NOT_OVER = {"Accepted", "Running", "Waiting"}


def fixed(retries, delay="20ms"):
    return {"strategy": "fixedDelay", "maxRetryCount": retries, "delayInterval": delay}


class Engine(Server):
    """It is not calm when functions fail, but never at its wits' end."""

    def __init__(self, data, environment, configuration, command=None):
        # The interpreter itself: those that choose one among many are slow to start, and there are many starts.
        path = {"PATH": f"{sys.base_prefix}/bin:{os.environ['PATH']}"}
        super().__init__(data, path | (environment or {}), ["--functions", configuration], command)

    def assert_calm(self):
        bad = [line for line in self.said if "panicked" in line or line.startswith("error")]
        assert not bad, bad


class House:
    """Functions are given by what makes them differ from a handler in Python without retries."""

    def __init__(self, folder, functions, environment=None, command=None, **sections):
        self.folder = pathlib.Path(folder)
        self.witness = self.folder / "witness.jsonl"
        described = {name: self.described(**given) for name, given in functions.items()}
        config = self.folder / "everstep.yaml"
        config.write_text(json.dumps({"version": 1, "functions": described} | sections))
        self.server = Engine(self.folder / "store", environment, config, command)

    def described(self, plan="ok", **given):
        usual = {"runtime": "python3.11", "handler": "scripted.handler", "codeUri": str(HANDLERS), "retry": "none"}
        described = usual | {"env": {"WITNESS": str(self.witness), "PLAN": plan}} | given
        return {name: value for name, value in described.items() if value is not None}

    def restart(self):
        self.server.kill()
        self.server.start()

    def request(self, path, body, headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=DEADLINE_SECONDS)
        try:
            connection.request("POST", path, json.dumps(body), headers)
            answer = connection.getresponse()
            text = answer.read()
            return answer.status, answer.headers, json.loads(text) if text else None
        finally:
            connection.close()

    def invoke(self, function, event=None, kind="RequestResponse", key=None):
        headers = {"X-Amz-Invocation-Type": kind} | ({"Idempotency-Key": key} if key else {})
        return self.request(f"/2015-03-31/functions/{function}/invocations", event or {}, headers)

    def accept(self, function, event=None, key=None):
        """The id of an invocation that was accepted."""
        status, headers, _ = self.invoke(function, event, "Event", key)
        assert status == 202
        return headers["x-amzn-RequestId"]

    def insist(self, call, *arguments):
        """Again, until there is an answer: the server may be away."""

        def answered():
            try:
                return call(*arguments)
            except (OSError, http.client.HTTPException):
                return None

        return until(answered, "an answer")

    def operate(self, operation, **body):
        headers = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": f"Everstep.{operation}"}
        status, _, answer = self.request("/", body, headers)
        assert status == 200, answer
        return answer

    def show(self, id):
        return self.operate("ShowInvocation", id=id)

    def listed(self, **filters):
        found, token = [], {}
        while token is not None:
            page = self.operate("ListInvocations", maxResults=1000, **filters, **token)
            found += page["invocations"]
            token = {"nextToken": page["nextToken"]} if "nextToken" in page else None
        return found

    def ended(self, id):
        return until(lambda: (shown := self.show(id))["state"] not in NOT_OVER and shown, f"the end of {id}")

    def all_ended(self):
        """Every invocation, once no one goes on and all that they have to tell is told."""

        def over():
            found = self.listed()
            return all(one["state"] not in NOT_OVER and one["routed"] for one in found) and found

        return until(over, "the end of all invocations", 2 * DEADLINE_SECONDS)

    def session(self, id):
        def over():
            session = self.operate("DescribeSession", id=id)
            return session["status"] != "RUNNING" and session

        return until(over, f"the end of session {id}")

    def lines(self, function=None):
        found = read_lines(self.witness)
        return [line for line in found if function in (None, line["function"])]

    def calls(self):
        """How often each function was called."""
        return dict(collections.Counter(line["function"] for line in self.lines()))

    def called(self, function, times=1):
        """Waits until a function has been called so often."""
        return until(lambda: len(found := self.lines(function)) >= times and found, f"{times} calls of {function}")


def read_lines(path):
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]


def lives(pid):
    """Whether a process is there and not only waited for."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1][0] not in "ZX"
    except OSError:
        return False


def parent(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()[1])


def children(of):
    """Processes by their parent."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and parent(entry) == of:
                found.append(int(entry))
        except OSError:
            continue
    return found
