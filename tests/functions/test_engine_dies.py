"""The engine is killed: nothing of it lives on, and no attempt is made more often than it may be."""

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
    """Five starts of each invocation: none is forgotten and none made twice."""
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
    interrupted = hidden = 0
    for one in found:
        id, attempts = one["invocationId"], one["attempts"]
        assert (one["state"], one["reason"]) == ("Exhausted", "RetriesExhausted"), one
        assert [attempt["n"] for attempt in attempts] == list(range(1, RETRIES + 2)), one
        assert len(lines[id]) == len(set(lines[id])) <= RETRIES + 1, (one, lines[id])
        for attempt in attempts:
            cut = attempt["errorType"] == "Runtime.Interrupted"
            interrupted += cut
            # Its start was durable, and the kill came before the code was given the event.
            hidden += attempt["n"] not in lines[id]
            assert cut or attempt["n"] in lines[id], (attempt, lines[id])
    print(f"{len(found)} invocations, {interrupted} attempts interrupted, {hidden} of them before the code ran")
    assert interrupted > hidden > 0


def check_records(records, found):
    """At least one for each, the same each time it is told, and only when all retries were used up."""
    told = collections.defaultdict(set)
    for record in read_lines(records):
        context = record["requestContext"]
        told[context["requestId"]].add((context["condition"], context["approximateInvokeCount"], record["timestamp"]))
    assert {id: len(said) for id, said in told.items()} == {one["invocationId"]: 1 for one in found}
    assert {(said[0], said[1]) for all in told.values() for said in all} == {("RetriesExhausted", RETRIES + 1)}
