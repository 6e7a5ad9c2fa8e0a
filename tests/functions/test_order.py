"""The order workflow as it was published and as the examples have it, with functions in Python and Node.js."""

import collections
import json
import pathlib
import shutil

import pytest

from everstep import arn, until
from house import Engine, read_lines

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples/order"
PUBLISHED = EXAMPLE.parents[1] / "testdata/asl/valid/blog-complete-error-handling-workflow.json"
# Retries take milliseconds in place of seconds.
SCALE = {"WAIT_TIME_SCALE": "0.001"}
FAILED = ("FAILED", "OrderProcessingFailed")
UNDONE = ["refund", "release-inventory"]

# What fails in which way, who is called in which order, and how the execution ends. Steps in a list of their own
# are made side by side.
SCENARIOS = {
    "happy": (
        {},
        ["reserve-inventory", "charge-customer", "fulfill-order"],
        ("SUCCEEDED", None),
    ),
    "out of stock": (
        {"reserve-inventory": {"error": "OutOfStockError"}},
        ["reserve-inventory"] * 4 + ["send-notification"],
        FAILED,
    ),
    "payment declined": (
        {"charge-customer": {"error": "PaymentError"}},
        ["reserve-inventory", "charge-customer", "release-inventory", "send-notification"],
        FAILED,
    ),
    "rate limit recovers": (
        {"charge-customer": {"error": "RateLimitError", "times": 2}},
        ["reserve-inventory"] + ["charge-customer"] * 3 + ["fulfill-order"],
        ("SUCCEEDED", None),
    ),
    "fulfilment fails": (
        {"fulfill-order": {"error": "WarehouseError"}},
        ["reserve-inventory", "charge-customer"] + ["fulfill-order"] * 4 + [UNDONE, "send-notification"],
        FAILED,
    ),
    "charge unexpected": (
        {"charge-customer": {"error": "Exit"}},
        ["reserve-inventory", "charge-customer", "release-inventory", "send-notification"],
        FAILED,
    ),
}


class Shop:
    """A copy of the example, so that the functions leave their lines elsewhere."""

    def __init__(self, folder):
        self.folder = folder / "order"
        shutil.copytree(EXAMPLE, self.folder, ignore=shutil.ignore_patterns(".*", "__pycache__"))
        shutil.copy(PUBLISHED, self.folder / "published.json")
        config = self.folder / "everstep.yaml"
        machines = "stateMachines:\n"
        config.write_text(config.read_text().replace(machines, f"{machines}  published: {{ definition: ./published.json }}\n"))
        self.server = Engine(folder / "store", SCALE, self.folder)

    def call(self, operation, **body):
        status, _, answer = self.server.post(operation, body)
        assert status == 200, answer
        return answer

    def start(self, order, fail, machine="published"):
        given = json.dumps({"orderId": order, "fail": fail})
        machine = arn(f"stateMachine:{machine}")
        return self.call("StartExecution", stateMachineArn=machine, name=order, input=given)["executionArn"]

    def history(self, execution):
        return self.call("GetExecutionHistory", executionArn=execution, maxResults=1000)["events"]

    def ended(self, execution):
        def over():
            described = self.call("DescribeExecution", executionArn=execution)
            return described["status"] != "RUNNING" and described

        described = until(over, f"the end of {execution}")
        return described["status"], described.get("error"), described.get("cause"), described.get("output")

    def lines(self, order):
        found = read_lines(self.folder / "functions/.calls.jsonl")
        return [line for line in found if line["orderId"] == order]


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    shop = Shop(tmp_path_factory.mktemp("shop"))
    yield shop
    shop.server.stop()


@pytest.mark.parametrize("machine", ["published", "order"])
@pytest.mark.parametrize("name", SCENARIOS)
def test_each_failure_is_answered(shop, name, machine):
    fail, steps, (status, error) = SCENARIOS[name]
    order = f"{machine}-{name.replace(' ', '-')}"
    ended = shop.ended(shop.start(order, fail, machine))
    assert ended[:2] == (status, error)
    lines = shop.lines(order)
    assert in_order([line["function"] for line in lines], steps)
    # Each attempt of a task is a request of its own.
    assert len({line["requestId"] for line in lines}) == len(lines)


def in_order(called, steps):
    """Whether functions were called step by step."""
    called = list(called)
    for step in steps:
        step = sorted([step] if isinstance(step, str) else step)
        if sorted(called[: len(step)]) != step:
            return False
        called = called[len(step) :]
    return not called


@pytest.mark.parametrize("name", SCENARIOS)
def test_killed_after_every_event(shop, name):
    fail, steps, _ = SCENARIOS[name]
    untroubled = f"untroubled-{name.replace(' ', '-')}"
    execution = shop.start(untroubled, fail)
    expected = [text and text.replace(untroubled, "ORDER") for text in shop.ended(execution)]
    events = len(shop.history(execution))
    types = collections.Counter(event["type"] for event in shop.history(execution))
    repeated = 0
    for position in range(1, events):
        order = f"{name.replace(' ', '-')}-{position}"
        execution = shop.start(order, fail)
        until(lambda: len(shop.history(execution)) >= position, f"event {position}")
        shop.server.kill()
        shop.server.start()
        ended = [text and text.replace(order, "ORDER") for text in shop.ended(execution)]
        assert ended == expected, f"killed after event {position}"
        assert collections.Counter(event["type"] for event in shop.history(execution)) == types
        repeated += check_effects(shop.lines(order), steps, position)
    print(f"killed after each of {events - 1} events; {repeated} effects were asked for again, with their key")


def check_effects(lines, steps, position):
    """What the kill has hidden was done again, with the same key: so there are as many keys as steps."""
    first, counts = {}, collections.Counter()
    for line in lines:
        first.setdefault(line["requestId"], line["function"])
        counts[line["requestId"]] += 1
    assert in_order(first.values(), steps), f"killed after event {position}: {lines}"
    again = {id: count for id, count in counts.items() if count > 1}
    # One at most was under way, or two side by side.
    assert set(again.values()) <= {2}
    assert len(again) <= 1 or sorted(first[id] for id in again) == UNDONE, lines
    return len(again)
