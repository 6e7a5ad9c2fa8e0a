"""Triggers of a real server that is killed: nothing that starts work is lost, and nothing starts it twice."""

import collections
import concurrent.futures
import datetime
import hashlib
import hmac
import json
import random
import time

import pytest

from everstep import arn, until
from house import fixed

KILLS = 10
WAITS = {"StartAt": "Wait", "States": {"Wait": {"Type": "Wait", "Seconds": 1, "End": True}}}
FAR = {"kind": "timer", "schedule": "cron(0 0 1 1 ? 2199)"}


def timer(function="f", **given):
    return {"kind": "timer", "every": "1s", "target": f"function:{function}"} | given


def show(house, name):
    return house.insist(lambda: house.operate("ShowTrigger", name=name))


def kill_often(house, chance, pauses=(0.05, 0.8)):
    for _ in range(KILLS):
        time.sleep(chance.uniform(*pauses))
        house.server.kill()
        time.sleep(chance.uniform(0, 1.5))
        house.server.start()


def by_item(house, function):
    """The ids of the invocations that code has seen, by what the event says of the tick."""
    seen = collections.defaultdict(set)
    for line in house.lines(function):
        seen[line["event"]["scheduledFor"]].add(line["id"])
    return seen


def moment(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


def test_every_tick_runs_once_whatever_is_killed(build):
    house = build({"f": {}}, triggers={"t": timer(missed={"all": 1000}, overlap="allow")})
    house.called("f")
    kill_often(house, random.Random(1))
    last = show(house, "t")["lastTick"]
    until(lambda: show(house, "t")["lastTick"] > last, "a tick after the last start")
    house.operate("PauseTrigger", name="t")
    house.all_ended()
    seen = by_item(house, "f")
    assert all(len(ids) == 1 for ids in seen.values()), "a tick was accepted twice"
    ticks = sorted(moment(tick) for tick in seen)
    gaps = {(later - earlier).total_seconds() for earlier, later in zip(ticks, ticks[1:])}
    assert gaps == {1.0}, "a tick was lost"
    shown = show(house, "t")
    assert shown["accepted"] == len(ticks) == shown["counters"]["succeeded"]
    runs = collections.Counter((line["id"], line["attempt"]) for line in house.lines("f"))
    interruptions = sum(one.get("interruptions", 0) for one in house.listed())
    assert sum(runs.values()) <= len(ticks) + interruptions


def test_an_outage_is_one_run_that_is_past_due(build):
    house = build({"f": {}}, triggers={"t": timer()})
    house.called("f")
    house.server.kill()
    missed = max(moment(tick) for tick in by_item(house, "f"))
    until(lambda: datetime.datetime.now(datetime.UTC) > missed + datetime.timedelta(seconds=4), "an outage")
    house.server.start()
    until(lambda: any(line["event"]["isPastDue"] for line in house.lines("f")), "the run that was missed")
    house.operate("PauseTrigger", name="t")
    house.all_ended()
    past_due = [line["event"] for line in house.lines("f") if line["event"]["isPastDue"]]
    assert len(past_due) == 1
    assert all(len(ids) == 1 for ids in by_item(house, "f").values())


def test_the_retries_of_a_tick_survive(build):
    """Azure: one run, and a past-due one that begins at the first attempt again."""
    house = build({"f": {"plan": "Broken", "retry": fixed(3, "1s")}}, triggers={"t": FAR | {"target": "function:f"}})
    id = house.operate("FireTrigger", name="t")["invocationId"]
    house.called("f")
    house.restart()
    shown = house.ended(id)
    assert (shown["state"], shown["attemptCount"], shown["deadLetter"]) == ("Exhausted", 4, True)
    assert shown["source"]["kind"] == "timer" and shown["source"]["name"] == "t"
    assert len(house.lines("f")) == 4 + shown.get("interruptions", 0)
    until(lambda: show(house, "t")["counters"]["deadLettered"] == 1, "the count of dead letters")


def test_a_request_that_was_accepted_runs_once(build):
    house = build({"f": {}}, triggers={"hook": {"kind": "http", "target": "function:f"}})

    def post(number):
        def accepted():
            status, _, answer = house.request("/triggers/hook", {"n": number}, {"Idempotency-Key": f"k{number}"})
            return answer if status == 202 else None

        return house.insist(accepted)["invocationId"]

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        chance = random.Random(2)
        posts = pool.map(post, [number for number in range(60) for _ in range(2)])
        kill_often(house, chance, (0.02, 0.3))
        ids = list(posts)
    assert len(set(ids)) == 60 and ids[0::2] == ids[1::2], "a key was accepted twice"
    ended = house.all_ended()
    assert {one["invocationId"] for one in ended} == set(ids)
    assert all(one["state"] == "Succeeded" for one in ended)
    until(lambda: show(house, "hook")["accepted"] == 60 and show(house, "hook")["inFlight"] == 0, "the counters")


def test_requests_need_what_the_trigger_demands(build):
    secrets = {"SECRET": "s3cret", "KEY": "key"}
    hook = {"kind": "http", "target": "function:f"}
    signature = {"secret": "${env:KEY}"}
    triggers = {
        "open": hook | {"maxBodyBytes": 1000},
        "secret": hook | {"secret": "${env:SECRET}"},
        "signed": hook | {"signature": signature},
        "grid": hook | {"format": "eventGrid", "secret": "${env:SECRET}"},
        "timer": FAR | {"target": "function:f"},
    }
    house = build({"f": {}}, environment=secrets, triggers=triggers)
    signed = "sha256=" + hmac.new(b"key", json.dumps({"n": 1}).encode(), hashlib.sha256).hexdigest()
    validation = [{"id": "1", "eventType": "Microsoft.EventGrid.SubscriptionValidationEvent", "data": {"validationCode": "c0de"}}]
    for path, body, headers, expected in [
        ("open", {"n": 1}, {}, 202),
        ("open", {"n": "x" * 1000}, {}, 413),
        ("nothing", {}, {}, 404),
        ("timer", {}, {}, 404),
        ("secret", {}, {}, 401),
        ("secret", {}, {"Authorization": "Bearer other"}, 401),
        ("secret", {}, {"Authorization": "Bearer s3cret"}, 202),
        ("secret?code=s3cret", {}, {}, 202),
        ("signed", {"n": 1}, {"X-Hub-Signature-256": signed}, 202),
        ("signed", {"n": 2}, {"X-Hub-Signature-256": signed}, 401),
        ("grid?code=s3cret", validation, {"aeg-event-type": "SubscriptionValidation"}, 200),
        ("grid", validation, {"aeg-event-type": "SubscriptionValidation"}, 401),
        ("grid?code=s3cret", [{"id": "a"}, {"id": "b"}, {"id": "a"}], {}, 202),
    ]:
        status, _, answer = house.request(f"/triggers/{path}", body, headers)
        assert status == expected, (path, headers, answer)
        if status == 200:
            assert answer == {"validationResponse": "c0de"}
    house.operate("PauseTrigger", name="open")
    status, headers, _ = house.request("/triggers/open", {}, {})
    assert (status, headers["Retry-After"]) == (503, "1")
    house.all_ended()
    assert len(house.lines("f")) == 6
    said = " ".join(house.server.said) + json.dumps(house.operate("ListTriggers"))
    assert "s3cret" not in said


def test_files_are_processed_once_and_moved(build, tmp_path):
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    files = {"kind": "file", "directory": str(inbox), "target": "function:f", "stableFor": "100ms", "interval": "50ms"}
    handler = {"runtime": "command", "handler": None, "command": ["sh", "-c", FILE_SCRIPT]}
    house = build({"f": handler | {"env": {"SEEN": str(tmp_path / "seen")}}}, triggers={"inbox": files})
    chance = random.Random(3)
    for number in range(30):
        part = inbox / f"{number}.part"
        part.write_text("bad" if number % 10 == 7 else "good")
        part.rename(inbox / str(number))
        if number % 5 == 4:
            time.sleep(chance.uniform(0, 0.3))
            house.restart()
    names = lambda folder: {path.name for path in (inbox / folder).iterdir()} if (inbox / folder).exists() else set()
    until(lambda: len(names("done") | names("failed")) == 30, "the end of all files")
    assert names("failed") == {"7", "17", "27"} and len(names("done")) == 27
    assert not [path for path in inbox.iterdir() if path.is_file()]
    counters = until(lambda: (shown := show(house, "inbox"))["inFlight"] == 0 and shown, "the counters")["counters"]
    assert (counters["succeeded"], counters["deadLettered"]) == (27, 3)
    assert len(house.listed(deadLetters=True)) == 3
    seen = collections.Counter((tmp_path / "seen").read_text().split())
    interruptions = sum(one.get("interruptions", 0) for one in house.listed())
    assert len(seen) == 30 and sum(seen.values()) <= 30 + interruptions


# Leaves the name of the file, and fails if it is bad.
FILE_SCRIPT = """
event=$(cat); name=$(echo "$event" | sed 's/.*"name":"\\([^"]*\\)".*/\\1/'); path=$(echo "$event" | sed 's/.*"path":"\\([^"]*\\)".*/\\1/')
echo "$name" >> "$SEEN"; grep -q good "$path" && echo '{}'
"""


def test_a_folder_is_blocked_until_it_is_resumed(build, tmp_path):
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    files = {"kind": "file", "directory": str(inbox), "target": "function:f", "stableFor": "50ms", "interval": "50ms", "onExhausted": "block"}
    house = build({"f": {"plan": "gate=open+Broken"}}, triggers={"inbox": files})
    (inbox / "a").write_text("")
    house.called("f")
    (house.folder / "open").touch()
    until(lambda: show(house, "inbox")["state"] == "Blocked", "the block")
    (inbox / "b").write_text("")
    house.restart()
    shown = show(house, "inbox")
    assert shown["state"] == "Blocked" and len(shown["blockedBy"]) == 1
    assert {line["event"]["name"] for line in house.lines("f")} == {"a"}
    house.operate("ResumeTrigger", name="inbox")
    until(lambda: {line["event"]["name"] for line in house.lines("f")} == {"a", "b"}, "the next file")


@pytest.mark.parametrize("overlap", ["coalesce", "allow"])
def test_state_machines_are_started_once(build, overlap):
    machine = {"definition": json.dumps(WAITS)}
    start = {"kind": "timer", "every": "1s", "target": "stateMachine:m", "executionName": "run-{messageId}"}
    triggers = {"t": start | {"overlap": overlap, "missed": {"all": 1000}}}
    house = build({}, stateMachines={"m": machine}, triggers=triggers)
    client = house.server.client()
    machine = arn("stateMachine:m")
    executions = lambda: client.list_executions(stateMachineArn=machine)["executions"]
    until(executions, "the first execution")
    kill_often(house, random.Random(4))
    client = house.server.client()
    house.operate("PauseTrigger", name="t")
    house.all_ended()
    accepted = {one["source"]["messageId"] for one in house.listed()}
    names = [execution["name"] for execution in executions()]
    assert len(names) == len(set(names)) and set(names) == {f"run-{id}" for id in accepted}
    ticks = sorted(datetime.datetime.strptime(id, "%Y%m%dT%H%M%SZ") for id in accepted)
    if overlap == "allow":
        gaps = {(later - earlier).total_seconds() for earlier, later in zip(ticks, ticks[1:])}
        assert gaps == {1.0}
    else:
        until(lambda: show(house, "t")["inFlight"] == 0, "the end of the executions")
        spans = sorted((execution["startDate"], execution["stopDate"]) for execution in executions())
        assert all(ended <= begun for (_, ended), (begun, _) in zip(spans, spans[1:])), "two ran at a time"


def test_a_pause_survives(build):
    house = build({"f": {}}, triggers={"t": timer(missed={"all": 1000})})
    house.called("f")
    house.operate("PauseTrigger", name="t")
    house.restart()
    assert show(house, "t")["state"] == "Paused"
    house.all_ended()
    before = len(by_item(house, "f"))
    house.operate("FireTrigger", name="t")
    until(lambda: None in by_item(house, "f"), "the run by hand")
    assert len(by_item(house, "f")) == before + 1
    house.operate("ResumeTrigger", name="t")
    until(lambda: len(by_item(house, "f")) > before + 1, "the next tick")
