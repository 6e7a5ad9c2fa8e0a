"""Functions that follow from each other, as Unum has it: one session, one result."""

import collections
import json
import random
import time

from house import fixed

SCALAR = {"inputType": "Scalar"}
ERROR = {"inputType": "Error"}
EDGES = [{"name": "next"} | SCALAR, {"name": "catch"} | ERROR]


def test_a_retry_may_be_told_in_the_event(build):
    house = build({"f": {"plan": "Broken", "retry": fixed(3), "retryMetadata": "unum"}})
    house.ended(house.accept("f", {"order": 7}))
    events = [line["event"] for line in house.lines()]
    assert events[0] == {"order": 7}
    for n, event in enumerate(events[1:], 1):
        assert (event["order"], event["Retry Number"], event["ErrorType"]) == (7, n, "User")
        assert event["ErrorMessage"] == "as planned" and "scripted.py" in event["StackTrace"]


def test_success_goes_to_what_is_next(build):
    house = build({"f": {"next": EDGES}, "next": {}, "catch": {}})
    session = house.session(house.accept("f", {"output": {"made": 1}}))
    assert (session["status"], session["output"]) == ("SUCCEEDED", {"made": 1})
    assert house.calls() == {"f": 1, "next": 1}
    assert house.lines("next")[0]["event"] == {"made": 1}


def test_a_catcher_runs_when_retries_are_used_up(build):
    house = build({"f": {"plan": "Broken", "retry": fixed(3), "next": EDGES}, "next": {}, "catch": {}})
    session = house.session(house.accept("f"))
    assert (session["status"], house.calls()) == ("SUCCEEDED", {"f": 4, "catch": 1})
    caught = house.lines("catch")[0]["event"]
    assert (caught["Error"], len(caught["attempts"])) == ("Broken", 4)
    assert json.loads(caught["Cause"])["errorMessage"] == "as planned"


def test_workers_that_are_killed_are_attempts(build):
    house = build({"f": {"plan": "kill", "retry": fixed(3), "next": EDGES}, "next": {}, "catch": {}})
    id = house.accept("f")
    assert house.session(id)["status"] == "SUCCEEDED"
    assert house.calls() == {"f": 4, "catch": 1}
    assert {attempt["errorType"] for attempt in house.show(id)["attempts"]} == {"Runtime.ExitError"}
    assert len({line["pid"] for line in house.lines("f")}) == 4


def test_a_failure_that_nobody_catches_ends_the_session(build):
    functions = {
        "first": {"next": [{"name": "second"} | SCALAR]},
        "second": {"plan": "Broken", "retry": fixed(1), "next": [{"name": "third"} | SCALAR]},
        "third": {},
    }
    house = build(functions)
    session = house.session(house.accept("first"))
    assert (session["status"], session["error"], session["failedFunction"]) == ("FAILED", "Broken", "second")
    assert house.calls() == {"first": 1, "second": 2}
    assert [step["function"] for step in session["steps"]] == ["first", "second"]


def test_a_key_begins_one_session(build):
    house = build({"f": {"next": EDGES}, "next": {}, "catch": {}})
    ids = {house.accept("f", {"n": 1}, key="once") for _ in range(3)}
    [id] = ids
    house.session(id)
    assert house.calls() == {"f": 1, "next": 1}


def test_edges_are_taken_once_whatever_is_killed(build):
    """Each step has one invocation, and each attempt of it one call, and one more for each interruption."""
    patient = {"concurrency": 2}
    functions = {
        "good": patient | {"next": EDGES},
        "bad": {"plan": "Broken", "retry": fixed(2), "concurrency": 2, "next": EDGES},
        "next": patient | {"next": [{"name": "last"} | SCALAR]},
        "last": patient,
        "catch": patient,
    }
    house = build(functions)
    dice = random.Random(6)
    began = {}
    for n in range(12):
        for name in ("good", "bad"):
            id = house.accept(name, {"output": {"n": n}})
            began[id] = name
        time.sleep(dice.uniform(0, 0.5))
        house.restart()
    for id, name in began.items():
        check_session(house, house.session(id), name)
    found = house.all_ended()
    calls = collections.Counter((line["id"], line["attempt"]) for line in house.lines())
    attempts = {(one["invocationId"], attempt["n"]): attempt for one in found for attempt in one["attempts"]}
    assert set(calls) == set(attempts)
    assert all(times <= 1 + attempts[call].get("interruptions", 0) for call, times in calls.items())
    assert len(found) == 12 * (3 + 2)


def check_session(house, session, name):
    steps = [step["function"] for step in session["steps"]]
    assert session["status"] == "SUCCEEDED", session
    assert steps == (["good", "next", "last"] if name == "good" else ["bad", "catch"])
    for step in session["steps"]:
        shown = house.show(step["invocationId"])
        outcomes = [attempt["outcome"] for attempt in shown["attempts"]]
        # One result, and what came before it were failures.
        assert outcomes.count("Succeeded") == (step["function"] != "bad"), shown
        lines = [line for line in house.lines() if line["id"] == step["invocationId"]]
        assert len(outcomes) == (3 if step["function"] == "bad" else 1) <= len(lines), shown
