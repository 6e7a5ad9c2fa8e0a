"""One attempt, two who answer it: one result counts, and what follows it happens once."""

import socket

import pytest
from everstep import until
from house import fixed

EDGES = [{"name": "next", "inputType": "Scalar"}]


def answer(house, output):
    """Lets the worker answer while its handler still runs; returns the status that it got."""
    (house.folder / "written").write_text(output)
    (house.folder / "written").rename(house.folder / "answer")
    answered = house.folder / "answered"
    until(answered.exists, "the status")
    status = int(answered.read_text())
    answered.unlink()
    return status


def outcome(house, id):
    """The session's output, and how often each function was called when all is over."""
    session = house.session(id)
    house.all_ended()
    return session["status"], session["output"], house.calls()


def test_the_first_of_two_answers_counts(build):
    house = build({"f": {"plan": "gate=open+ok", "next": EDGES}, "next": {}})
    id = house.accept("f", {"output": {"by": "worker"}})
    line = house.called("f")[0]
    assert answer(house, '{"by": "other"}') == 202
    # It was told when that was durable, and so for ever.
    house.server.kill()
    (house.folder / "open").touch()
    house.server.start()
    status, output, calls = outcome(house, id)
    assert (status, output, calls["f"]) == ("SUCCEEDED", {"by": "other"}, 1)
    # The kill may have interrupted an attempt of it.
    assert len({line["id"] for line in house.lines("next")}) == 1
    assert house.show(id)["attempts"][0]["workerPid"] == line["pid"]


def test_the_second_of_two_answers_is_refused(build):
    house = build({"f": {"plan": "gate=open+ok", "next": EDGES}, "next": {}})
    id = house.accept("f", {"output": {"by": "worker"}})
    line = house.called("f")[0]
    assert answer(house, '{"by": "other"}') == 202
    assert answer(house, '{"by": "third"}') == 400
    (house.folder / "open").touch()
    assert outcome(house, id) == ("SUCCEEDED", {"by": "other"}, {"f": 1, "next": 1})
    until(lambda: any("which it was not given" in said for said in house.server.said), "it is told")
    # The worker whose answer was refused goes on.
    assert house.invoke("f", {"output": 2})[2] == 2
    assert {line["pid"] for line in house.lines("f")} == {line["pid"]}


def test_an_answer_after_the_timeout_counts_for_nothing(build):
    late = {"plan": "gate=never+ok,ok", "timeout": "1s", "retry": fixed(1), "next": EDGES}
    house = build({"f": late, "next": {}})
    id = house.accept("f", {"output": {"by": "second"}})
    first = house.called("f", 2)[0]
    host, port = first["api"].split(":")
    with pytest.raises(OSError):
        socket.create_connection((host, int(port)))
    assert outcome(house, id) == ("SUCCEEDED", {"by": "second"}, {"f": 2, "next": 1})
    assert [attempt.get("errorType") for attempt in house.show(id)["attempts"]] == ["Sandbox.Timedout", None]
