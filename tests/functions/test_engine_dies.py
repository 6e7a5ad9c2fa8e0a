"""The engine is killed: nothing of it lives on, and what was accepted runs, each attempt once and once more for each
interruption."""

import collections
import concurrent.futures
import http.client
import random
import signal
import threading
import time

import pytest

from everstep import DEADLINE_SECONDS, until
from house import NOT_OVER, children, fixed, lives, read_lines

KILLS = 200
IN_FLIGHT = 8
RETRIES = 4
# How often in a row an attempt is repeated.
REPEATS = 5


def test_no_worker_outlives_the_engine(build):
    busy = {"plan": "sleep=1000+ok", "timeout": "1h", "concurrency": 2}
    house = build({"py": busy, "js": busy | {"runtime": "nodejs20.x"}, "idle": {"runtime": "nodejs20.x"}})
    assert house.invoke("idle")[0] == 200
    for name in ("py", "js"):
        house.accept(name)
        house.called(name)
    pids = children(house.server.process.pid)
    assert {line["pid"] for line in house.lines()} <= set(pids) and len(pids) >= 3
    house.server.kill()
    until(lambda: not any(lives(pid) for pid in pids), "the end of all workers", 5)
    house.server.start()


def test_what_workers_have_started_is_ended_before_the_next_call(build):
    house = build({"f": {"plan": "child", "timeout": "1h"}, "other": {}})
    house.accept("f")
    [line] = house.called("f")
    [child] = until(lambda: children(line["pid"]), "the child")
    house.restart()
    assert house.invoke("other")[0] == 200
    assert not lives(child) and not lives(line["pid"])


def test_it_stops_in_order_as_soon_as_it_listens(build):
    house = build({"f": {}})
    for number in [signal.SIGTERM, signal.SIGINT] * 3:
        house.server.process.send_signal(number)
        assert house.server.process.wait(DEADLINE_SECONDS) == 0
        house.server.start()


def test_a_call_that_is_waited_for_is_forgotten_with_the_engine(build):
    house = build({"f": {"plan": "sleep=1000+ok", "timeout": "1h", "retry": fixed(RETRIES)}})
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        asked = pool.submit(house.invoke, "f")
        house.called("f")
        house.restart()
        with pytest.raises((OSError, http.client.HTTPException)):
            asked.result()
    assert house.listed() == []
    assert house.invoke("f", {"plan": "ok"})[0] == 200
    assert len(house.lines()) == 2


def test_retries_are_exact_whatever_is_killed(build, tmp_path):
    """Five attempts of each invocation end, and each runs: once, and once more for each interruption."""
    records = tmp_path / "records.jsonl"
    always = {"plan": "sleep=0.02+Broken", "retry": fixed(RETRIES, "30ms"), "concurrency": 4}
    house = build({"f": always | {"onFailure": f"file:{records}"}})
    over = threading.Event()
    accepted = {}
    feeder = threading.Thread(target=feed, args=(house, accepted, over))
    feeder.start()
    try:
        kill_often(house)
    finally:
        over.set()
        feeder.join()
    found = house.all_ended()
    # An acceptance without an answer was asked for again, by the same key.
    assert {one["dedupeKey"]: one["invocationId"] for one in found} == accepted
    assert len(found) == len(accepted)
    check_attempts(house, found)
    dead = house.listed(deadLetters=True)
    assert {one["invocationId"] for one in dead} == set(accepted.values())
    check_records(records, found)


def feed(house, accepted, over):
    """Keeps some invocations in flight."""
    number = 0
    while not over.wait(0.01):
        going = [one for one in house.insist(house.listed) if one["state"] in NOT_OVER] if accepted else []
        for _ in range(IN_FLIGHT - len(going)):
            key = f"k-{number}"
            accepted[key] = house.insist(house.accept, "f", {"n": number}, key)
            number += 1


def kill_often(house):
    """Every other time while code runs, else whatever is under way, starts of workers above all."""
    dice = random.Random(200)
    for number in range(KILLS):
        if number % 2:
            house.called("f", len(house.lines()) + 1)
            time.sleep(dice.uniform(0, 0.1))
        else:
            time.sleep(dice.uniform(0, 0.3))
        house.restart()


def check_attempts(house, found):
    lines = collections.defaultdict(list)
    for line in house.lines():
        lines[line["id"]].append(line["attempt"])
    interruptions = repeated = 0
    for one in found:
        id, attempts = one["invocationId"], one["attempts"]
        assert (one["state"], one["reason"]) == ("Exhausted", "RetriesExhausted"), one
        assert [attempt["n"] for attempt in attempts] == list(range(1, RETRIES + 2)), one
        for attempt in attempts:
            cut, calls = attempt.get("interruptions", 0), lines[id].count(attempt["n"])
            interruptions, repeated = interruptions + cut, repeated + calls - 1
            assert attempt["errorType"] == ("Broken" if cut <= REPEATS else "Runtime.Interrupted"), attempt
            assert "endedAt" in attempt, attempt
            # The kill may come when its start is durable and the code has not been given the event.
            assert 1 <= calls <= 1 + min(cut, REPEATS), (attempt, lines[id])
        assert one.get("interruptions", 0) == sum(attempt.get("interruptions", 0) for attempt in attempts)
    print(f"{len(found)} invocations, {interruptions} interruptions, {repeated} calls repeated")
    assert interruptions >= repeated > 0


def test_code_that_kills_the_engine_comes_to_an_end(build):
    house = build({"f": {"plan": "kill-engine,ok", "retry": fixed(1)}})
    id = house.accept("f")
    starts_until_over(house, id)
    ended = house.ended(id)
    first, second = ended["attempts"]
    assert [line["attempt"] for line in house.lines()] == [1] * 6 + [2]
    assert (first["errorType"], first["errorClass"], first["interruptions"]) == ("Runtime.Interrupted", "Error.Runtime", 6)
    assert (ended["state"], second["outcome"]) == ("Succeeded", "Succeeded")
    assert len({attempt["attemptId"] for attempt in ended["attempts"]}) == 2


def test_code_that_must_not_be_started_too_often(build):
    house = build({"f": {"plan": "kill-engine", "retry": fixed(2), "interruptedAttempts": "count"}})
    id = house.accept("f")
    starts_until_over(house, id)
    ended = house.ended(id)
    assert [line["attempt"] for line in house.lines()] == [1, 2, 3]
    assert (ended["reason"], ended["deadLetter"], ended["attemptCount"]) == ("RetriesExhausted", True, 3)


def starts_until_over(house, id):
    """Starts the engine whenever its function has killed it, until the invocation is over."""

    def over():
        try:
            return house.show(id)["state"] not in NOT_OVER
        except (OSError, http.client.HTTPException):
            house.server.process.wait(DEADLINE_SECONDS)
            until(house.server.is_free, "the server's port")
            house.server.start()
            return False

    until(over, f"the end of {id}")


def test_between_attempts_nothing_is_interrupted(build):
    house = build({"f": {"plan": "Broken", "retry": fixed(RETRIES, "1s")}})
    id = house.accept("f")
    for attempt in range(1, RETRIES + 1):
        until(lambda: (one := house.show(id))["state"] == "Waiting" and one["attemptCount"] == attempt, "a retry")
        house.restart()
    ended = house.ended(id)
    assert [line["attempt"] for line in house.lines()] == [1, 2, 3, 4, 5]
    assert (ended["attemptCount"], ended.get("interruptions", 0)) == (5, 0)


def test_a_stop_in_order_interrupts_nothing(build):
    house = build({"f": {"plan": "sleep=0.5+ok", "concurrency": 2}})
    ids = [house.accept("f") for _ in range(6)]
    house.called("f")
    house.server.process.send_signal(signal.SIGTERM)
    assert house.server.process.wait(DEADLINE_SECONDS) == 0
    house.server.start()
    ended = [house.ended(id) for id in ids]
    assert {(one["state"], one["attemptCount"], one.get("interruptions", 0)) for one in ended} == {("Succeeded", 1, 0)}
    assert len(house.lines()) == 6


def check_records(records, found):
    """At least one for each, the same each time it is told, and only when all retries were used up."""
    told = collections.defaultdict(set)
    for record in read_lines(records):
        context = record["requestContext"]
        told[context["requestId"]].add((context["condition"], context["approximateInvokeCount"], record["timestamp"]))
    assert {id: len(said) for id, said in told.items()} == {one["invocationId"]: 1 for one in found}
    assert {(said[0], said[1]) for all in told.values() for said in all} == {("RetriesExhausted", RETRIES + 1)}
