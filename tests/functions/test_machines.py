"""What a state machine says of itself: who is told of its failures, whatever dies meanwhile, and its dialect."""

import http.server
import json
import socket
import threading

import pytest

from everstep import arn, until
from house import read_lines

ENDS = {"FAILED", "TIMED_OUT", "ABORTED", "SUCCEEDED"}


def machine(definition, **settings):
    return {"definition": json.dumps(definition)} | settings


def one(**state):
    return {"StartAt": "S", "States": {"S": state}}


FAIL = one(Type="Fail", Error="Broken", Cause="as planned")
WAIT = one(Type="Wait", Seconds=3600, End=True)
LATE = WAIT | {"TimeoutSeconds": 1}
PASS = one(Type="Pass", End=True)


class Shop:
    """A house, seen as state machines."""

    def __init__(self, house):
        self.house = house

    def ask(self, operation, **body):
        status, _, answer = self.house.server.post(operation, body)
        return status, answer

    def call(self, operation, **body):
        status, answer = self.ask(operation, **body)
        assert status == 200, answer
        return answer

    def start(self, name, execution, **given):
        body = {"stateMachineArn": arn(f"stateMachine:{name}"), "name": execution, "input": json.dumps(given)}
        return self.call("StartExecution", **body)["executionArn"]

    def ended(self, execution):
        def over():
            described = self.call("DescribeExecution", executionArn=execution)
            return described["status"] in ENDS and described

        return until(over, f"the end of {execution}")

    def tags(self, name):
        """All but the one that says where the machine comes from."""
        listed = self.call("ListTagsForResource", resourceArn=arn(f"stateMachine:{name}"))["tags"]
        return {tag["key"]: tag["value"] for tag in listed if tag["key"] != "everstep:from"}

    def tag(self, name, **tags):
        given = [{"key": f"everstep:{key}", "value": value} for key, value in tags.items()]
        return self.ask("TagResource", resourceArn=arn(f"stateMachine:{name}"), tags=given)


@pytest.fixture
def open_shop(build):
    def open_shop(machines, functions=None, **options):
        usual = {"tell": {}}
        return Shop(build(usual if functions is None else functions, stateMachines=machines, **options))

    return open_shop


class Destination:
    """Something at a URL that is down, slow or there."""

    def __init__(self):
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            self.port = unused.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/failed?key=s3cret"
        self.heard = []
        self.server = None

    def open(self, answers=True):
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.heard.append((self.headers["Idempotency-Key"], self.path, body))
                if not answers:
                    outer.closing.wait()
                    return
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.closing = threading.Event()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def close(self):
        if self.server:
            self.closing.set()
            self.server.shutdown()
            self.thread.join()
            self.server.server_close()
            self.server = None


@pytest.fixture
def destination():
    destination = Destination()
    yield destination
    destination.close()


def test_a_function_is_told_of_every_end_but_success(open_shop):
    told = {"onFailure": "function:tell"}
    machines = {"fail": FAIL, "wait": WAIT, "late": LATE, "good": PASS}
    shop = open_shop({name: machine(definition, **told) for name, definition in machines.items()})
    executions = {name: shop.start(name, "e", order=7) for name in machines}
    shop.call("StopExecution", executionArn=executions["wait"], error="Enough", cause="of this")
    described = {name: shop.ended(execution) for name, execution in executions.items()}
    lines = shop.house.called("tell", 3)
    events = {line["event"]["detail"]["status"]: line["event"] for line in lines}
    assert set(events) == {"FAILED", "ABORTED", "TIMED_OUT"}
    for name, status in [("fail", "FAILED"), ("wait", "ABORTED"), ("late", "TIMED_OUT")]:
        event, known = events[status], described[name]
        detail = event["detail"]
        assert event["detail-type"] == "Step Functions Execution Status Change"
        assert event["resources"] == [detail["executionArn"]] == [executions[name]]
        assert detail["input"] == known["input"] == '{"order": 7}'
        assert (detail["error"], detail["cause"]) == (known.get("error"), known.get("cause"))
        assert detail["stopDate"] == round(known["stopDate"] * 1000)
    shop.house.all_ended()
    assert shop.house.calls() == {"tell": 3}
    # Nothing is told again that was told.
    shop.house.restart()
    shop.house.all_ended()
    assert shop.house.calls() == {"tell": 3}


def test_a_function_is_told_once_whenever_the_engine_dies(open_shop):
    shop = open_shop({"fail": machine(FAIL, onFailure="function:tell")})
    executions = []
    for n in range(15):
        executions += [shop.start("fail", f"{n}-{m}") for m in range(4)]
        if n % 2:
            shop.ended(executions[-1])
        shop.house.restart()

    def told():
        found = shop.house.listed()
        return len(found) >= len(executions) and found

    found = until(told, "an invocation for each failure")
    shop.house.all_ended()
    assert len(found) == len(shop.house.listed()) == len(executions)
    assert {one["source"]["messageId"] for one in found} == set(executions)
    ids = {line["event"]["detail"]["executionArn"]: set() for line in shop.house.lines()}
    for line in shop.house.lines():
        ids[line["event"]["detail"]["executionArn"]].add(line["event"]["id"])
    assert set(ids) == set(executions)
    assert {len(found) for found in ids.values()} == {1}


@pytest.mark.parametrize("state", ["down", "slow"])
def test_a_destination_that_cannot_be_reached_is_told_after_a_crash(open_shop, destination, state):
    if state == "slow":
        destination.open(answers=False)
    shop = open_shop({"fail": machine(FAIL, onFailure=destination.url), "good": machine(PASS, onFailure=destination.url)})
    good = shop.start("good", "e")
    execution = shop.start("fail", "e")
    assert (shop.ended(execution)["status"], shop.ended(good)["status"]) == ("FAILED", "SUCCEEDED")
    if state == "slow":
        until(lambda: destination.heard, "the first try")
    else:
        warning = f"the failure of {execution} could not be reported to {destination.url}: it cannot be reached"
        until(lambda: any(warning in line for line in shop.house.server.said), "the warning")
    shop.house.server.kill()
    destination.close()
    before = len(destination.heard)
    destination.open()
    shop.house.server.start()
    until(lambda: len(destination.heard) > before, "the delivery")
    assert {body["detail"]["executionArn"] for _, _, body in destination.heard} == {execution}
    assert len({key for key, _, _ in destination.heard}) == 1
    assert all(key == body["id"] for key, _, body in destination.heard)
    shop.house.server.stop()
    count = len(destination.heard)
    shop.house.server.start()
    shop.ended(shop.start("good", "f"))
    assert len(destination.heard) == count


def test_each_failure_of_a_redriven_execution_is_told(open_shop):
    shop = open_shop({"fail": machine(FAIL, onFailure="function:tell")})
    execution = shop.start("fail", "e")
    shop.ended(execution)
    shop.call("RedriveExecution", executionArn=execution)
    events = [line["event"] for line in shop.house.called("tell", 2)]
    assert sorted(event["detail"]["redriveCount"] for event in events) == [0, 1]
    assert len({event["id"] for event in events}) == 2


def test_a_state_machine_may_be_told(open_shop):
    machines = {"fail": machine(FAIL, onFailure="stateMachine:undo"), "undo": machine(PASS)}
    shop = open_shop(machines)
    execution = shop.start("fail", "e")
    listed = lambda: shop.call("ListExecutions", stateMachineArn=arn("stateMachine:undo"))["executions"]
    [started] = until(listed, "the execution that is told")
    given = json.loads(shop.ended(started["executionArn"])["input"])
    assert (given["id"], given["detail"]["executionArn"]) == (started["name"], execution)


def test_failures_that_lead_to_failures_come_to_an_end(open_shop):
    shop = open_shop({
        "ping": machine(FAIL, onFailure="stateMachine:pong"),
        "pong": machine(FAIL, onFailure="stateMachine:ping"),
    })
    shop.start("ping", "e")
    said = lambda: any("16 failures led to each other; dropped" in line for line in shop.house.server.said)
    until(said, "the end of it")
    count = lambda name: len(shop.call("ListExecutions", stateMachineArn=arn(f"stateMachine:{name}"))["executions"])
    assert count("ping") + count("pong") == 17


def test_secrets_and_files_are_the_configuration_s(open_shop, destination, tmp_path):
    destination.open()
    url, records = destination.url.replace("s3cret", "${env:KEY}"), tmp_path / "failures.jsonl"
    machines = {"web": machine(FAIL, onFailure=url), "log": machine(FAIL, onFailure=f"file:{records}")}
    shop = open_shop(machines, environment={"KEY": "s3cret"})
    assert shop.tags("web") == {"everstep:onFailure": url}
    executions = [shop.start(name, "e") for name in machines]
    [(_, path, body)] = until(lambda: destination.heard, "the delivery")
    assert (path, body["detail"]["executionArn"]) == ("/failed?key=s3cret", executions[0])
    [record] = until(lambda: read_lines(records), "the record")
    assert record["detail"]["executionArn"] == executions[1]
    assert not any("s3cret" in line for line in shop.house.server.said)


def test_settings_are_tags(open_shop):
    choice = one(Type="Choice", Choices=[{"Variable": "$.a", "IsPresent": True, "Next": "Done"}])
    choice["States"]["Done"] = {"Type": "Succeed"}
    shop = open_shop({"m": machine(choice, dialect="aws", onFailure="function:tell")})
    assert shop.tags("m") == {"everstep:dialect": "aws", "everstep:onFailure": "function:tell"}
    assert shop.ended(shop.start("m", "aws"))["error"] == "States.Runtime"
    for target, why in [
        ("function:nobody", "there is no function 'nobody'"),
        ("file:/etc/passwd", "a file can only be named in everstep.yaml"),
        ("stateMachine:m", "cannot be notified of its own failures"),
        ("nonsense", "invalid target"),
    ]:
        status, answer = shop.tag("m", onFailure=target)
        assert (status, answer["__type"].rsplit("#")[-1]) == (400, "ValidationException")
        assert why in answer["message"]
    assert shop.tag("m", dialect="spec")[0] == 200
    assert shop.ended(shop.start("m", "spec"))["error"] == "States.NoChoiceMatched"
    mine = [{"key": "team", "value": "orders"}]
    shop.call("TagResource", resourceArn=arn("stateMachine:m"), tags=mine)
    # The file has the last word, on its own settings alone.
    config = shop.house.folder / "everstep.yaml"
    written = json.loads(config.read_text())
    del written["stateMachines"]["m"]["dialect"], written["stateMachines"]["m"]["onFailure"]
    config.write_text(json.dumps(written))
    shop.house.restart()
    assert shop.tags("m") == {"team": "orders"}
    assert shop.ended(shop.start("m", "untold"))["error"] == "States.NoChoiceMatched"
    shop.house.all_ended()
    assert shop.house.calls() == {"tell": 2}
