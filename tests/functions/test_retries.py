"""Policies: how often, after which waits, for which errors, and what the code is told."""

import concurrent.futures
import os
import pathlib

import pytest

from everstep import until
from house import fixed, lives


def test_it_is_run_again_until_it_succeeds(build):
    house = build({"f": {"plan": "Broken,Broken,ok", "retry": fixed(4)}})
    ended = house.ended(house.accept("f"))
    assert (ended["state"], ended["attemptCount"], len(house.lines())) == ("Succeeded", 3, 3)
    assert [attempt["outcome"] for attempt in ended["attempts"]] == ["Failed", "Failed", "Succeeded"]


def test_what_is_returned_is_no_failure(build):
    house = build({"f": {"retry": fixed(4)}})
    ended = house.ended(house.accept("f", {"output": {"error": "Broken"}}))
    assert (ended["state"], ended["response"], len(house.lines())) == ("Succeeded", {"error": "Broken"}, 1)


@pytest.mark.parametrize("retries", [0, 4])
def test_retries_are_counted_beside_the_first_attempt(build, retries):
    house = build({"f": {"plan": "Broken", "retry": fixed(retries)}})
    ended = house.ended(house.accept("f"))
    assert (ended["state"], ended["reason"]) == ("Exhausted", "RetriesExhausted")
    assert len(house.lines()) == ended["attemptCount"] == 1 + retries


def test_retries_without_end_can_be_cancelled(build):
    house = build({"f": {"plan": "Broken", "retry": fixed(-1, "1ms")}})
    id = house.accept("f")
    house.called("f", 50)
    assert house.show(id)["state"] in {"Running", "Waiting"}
    house.operate("CancelInvocation", id=id)
    assert house.ended(id)["state"] == "Cancelled"
    count = house.show(id)["attemptCount"]
    house.restart()
    house.ended(house.accept("f", {"plan": "ok"}))
    # The last may have been killed before it left its line.
    lines = [line for line in house.lines() if line["id"] == id]
    assert house.show(id)["attemptCount"] == count
    assert count - 1 <= len(lines) <= count


def rust():
    """The handler that `cargo xtask functions` builds."""
    program = pathlib.Path(os.environ["EVERSTEP_TEST_RUST_HANDLER"])
    return {"runtime": "provided", "handler": None, "codeUri": str(program.parent), "command": [program.name]}


@pytest.mark.parametrize("runtime", ["python3.11", "nodejs20.x", "provided"])
def test_the_code_is_told(build, runtime):
    told = rust() if runtime == "provided" else {"runtime": runtime}
    house = build({"f": {"plan": "Broken", "retry": fixed(3)} | told})
    id = house.accept("f", {"do": "witness"})
    house.ended(id)
    told = [line["told"] for line in house.lines()]
    assert [one["everstep.retryCount"] for one in told] == ["0", "1", "2", "3"]
    assert [one["everstep.attempt"] for one in told] == ["1", "2", "3", "4"]
    assert {one["everstep.maxRetryCount"] for one in told} == {"3"}
    assert {one["everstep.idempotencyKey"] for one in told} == {id}
    assert [one.get("everstep.lastErrorType") for one in told] == [None, "Broken", "Broken", "Broken"]
    assert [one.get("everstep.lastErrorMessage") for one in told][1:] == ["as planned"] * 3


def test_waiting_takes_no_worker(build):
    house = build({"f": {"plan": "Broken", "concurrency": 2, "retry": fixed(1, "1h")}, "other": {}})
    for _ in range(500):
        house.accept("f")
    until(lambda: len(house.listed(state="Waiting")) == 500, "500 that wait")
    assert len({line["pid"] for line in house.lines("f")}) <= 2
    assert house.invoke("other")[0] == 200
    assert house.calls() == {"f": 500, "other": 1}


def test_what_waits_survives_an_orderly_stop(build):
    house = build({"f": {"plan": "Broken,ok", "retry": fixed(1, "5s")}})
    id = house.accept("f")
    waiting = until(lambda: (shown := house.show(id))["state"] == "Waiting" and shown, "a wait")
    house.server.stop()
    house.server.start()
    # It did not wait for what waits.
    assert house.show(id) == waiting
    assert (house.ended(id)["state"], len(house.lines())) == ("Succeeded", 2)


def test_waits_are_no_part_of_the_timeout(build):
    house = build({"f": {"plan": "Broken", "timeout": "1s", "retry": fixed(3, "5s")}})
    ended = house.ended(house.accept("f"))
    assert {attempt["errorType"] for attempt in ended["attempts"]} == {"Broken"}
    assert len(house.lines()) == 4


def test_each_attempt_has_its_timeout(build):
    house = build({"f": {"plan": "sleep=60+ok", "timeout": "1s", "retry": fixed(2)}})
    ended = house.ended(house.accept("f"))
    found = {(attempt["errorType"], attempt["errorClass"]) for attempt in ended["attempts"]}
    assert (found, len(house.lines())) == ({("Sandbox.Timedout", "Error.Timeout")}, 3)
    until(lambda: not any(lives(line["pid"]) for line in house.lines()), "the end of what was late")


def test_each_rule_counts_for_itself(build):
    rules = [
        {"errors": ["ErrorA", "ErrorB"], "strategy": "exponential", "base": "10ms", "rate": 2, "maxRetryCount": 2},
        {"errors": ["ErrorC"], "strategy": "exponential", "base": "50ms", "rate": 2, "maxRetryCount": 3},
    ]
    house = build({"f": {"plan": "ErrorA,ErrorB,ErrorC,ErrorB,ErrorB,ok", "retry": {"rules": rules}}})
    ended = house.ended(house.accept("f"))
    assert [attempt.get("nextDelayMs") for attempt in ended["attempts"]] == [10, 20, 50, None]
    assert (ended["state"], len(house.lines())) == ("Exhausted", 4)


def test_some_errors_are_not_tried_again(build):
    rules = {"rules": [{"errors": ["Error.ALL"]} | fixed(4)], "nonRetryable": ["CardRefused"]}
    house = build({"f": {"plan": "CardRefused", "retry": rules}})
    ended = house.ended(house.accept("f"))
    assert (ended["state"], ended["reason"], len(house.lines())) == ("Exhausted", "NonRetryable", 1)


def test_a_key_names_one_invocation(build):
    house = build({"f": {"plan": "sleep=0.3+ok"}})
    event = {"output": {"charged": 7}}
    with concurrent.futures.ThreadPoolExecutor(100) as pool:
        asked = [pool.submit(house.invoke, "f", event, "RequestResponse", "order-7") for _ in range(100)]
        answers = [future.result() for future in asked]
    assert {(status, str(body)) for status, _, body in answers} == {(200, str({"charged": 7}))}
    assert len({headers["x-amzn-RequestId"] for _, headers, _ in answers}) == 1
    assert len(house.lines()) == 1
    house.restart()
    assert house.invoke("f", event, key="order-7")[2] == {"charged": 7}
    assert len(house.lines()) == 1
