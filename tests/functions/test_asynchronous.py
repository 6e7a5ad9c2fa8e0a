"""Invocations that nobody waits for, and where their records go."""

import http.server
import json
import os
import pathlib
import re
import socket
import threading

from everstep import until
from house import fixed, read_lines

GOLDEN = pathlib.Path(__file__).parent / "golden"


def test_what_was_accepted_runs(build):
    house = build({"f": {}})
    ids = [house.accept("f", {"n": n}) for n in range(5)]
    house.server.kill()
    house.server.start()
    assert {house.ended(id)["state"] for id in ids} == {"Succeeded"}
    assert {one["invocationId"] for one in house.listed()} == {line["id"] for line in house.lines()} == set(ids)


def test_a_crash_right_after_the_acceptance(build):
    """No retry is needed: an attempt that no worker took was never interrupted."""
    house = build({"f": {}})
    for n in range(5):
        id = house.accept("f", {"n": n})
        house.restart()
        ended = house.ended(id)
        assert (ended["state"], ended["attemptCount"]) == ("Succeeded", 1)
        assert id in {line["id"] for line in house.lines()}


def test_a_call_that_is_waited_for_is_made_once(build):
    house = build({"f": {"plan": "Broken", "retry": fixed(4)}})
    status, headers, answer = house.invoke("f")
    assert (status, headers["X-Amz-Function-Error"], answer["errorType"]) == (200, "Unhandled", "Broken")
    assert len(house.lines()) == 1
    assert house.invoke("f", kind="DryRun")[0] == 204
    assert house.invoke("nobody")[0] == 404
    assert len(house.lines()) == 1


def test_waiting_for_a_slot_is_no_attempt(build):
    house = build({"f": {"concurrency": 1, "retry": fixed(2)}})
    ids = [house.accept("f") for _ in range(50)]
    ended = [house.ended(id) for id in ids]
    assert {(one["state"], one["attemptCount"]) for one in ended} == {("Succeeded", 1)}
    assert len(house.lines()) == 50
    assert len({line["pid"] for line in house.lines()}) == 1


def test_the_request_id_is_that_of_the_invocation(build):
    house = build({"f": {"plan": "Broken", "retry": fixed(3)}})
    id = house.accept("f")
    house.ended(id)
    assert [line["id"] for line in house.lines()] == [id] * 4
    assert len({line["deadline"] for line in house.lines()}) == 4
    assert len({attempt["attemptId"] for attempt in house.show(id)["attempts"]}) == 4


def test_records_are_those_of_aws(build, tmp_path):
    records = tmp_path / "records.jsonl"
    to_file = {"onSuccess": f"file:{records}", "onFailure": f"file:{records}"}
    functions = {
        "success": to_file,
        "exhausted": {"plan": "Broken", "retry": fixed(2)} | to_file,
        "zero": {"concurrency": 0} | to_file,
    }
    house = build(functions)
    for name in functions:
        records.unlink(missing_ok=True)
        id = house.accept(name, {"order": 7})
        [record] = until(lambda: read_lines(records), "a record")
        assert record["requestContext"]["requestId"] == id
        golden = GOLDEN / f"{name}.json"
        if "UPDATE_EXPECT" in os.environ:
            golden.write_text(plain(record))
        assert plain(record) == golden.read_text(), name
    assert house.calls() == {"success": 1, "exhausted": 3}


def plain(value):
    """Without what differs from run to run. The order of keys counts."""
    text = json.dumps(value, indent=2) + "\n"
    text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "ID", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", "TIME", text)
    text = re.sub(r'"workerPid": \d+', '"workerPid": 1', text)
    return re.sub(r'"(stackTrace|log)": \[.*?\n +\]', r'"\1": []', text, flags=re.DOTALL)


class Listener(http.server.BaseHTTPRequestHandler):
    heard = None

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.heard.append((self.headers["Idempotency-Key"], body["requestContext"]["requestId"]))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


def test_a_destination_may_be_down(build):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    house = build({"f": {"onSuccess": f"http://127.0.0.1:{port}/"}})
    id = house.accept("f")
    house.ended(id)
    told = f"the record of invocation {id} could not be delivered to"
    until(lambda: any(told in line for line in house.server.said), "the warning")
    house.restart()
    assert not house.show(id)["routed"]
    heard = []
    handler = type("Heard", (Listener,), {"heard": heard})
    server = http.server.HTTPServer(("127.0.0.1", port), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        until(lambda: house.show(id)["routed"], "the delivery")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert {invocation for _, invocation in heard} == {id}
    assert len({key for key, _ in heard}) == 1
    assert len(house.lines()) == 1


def test_destinations_that_go_round_are_stopped(build):
    house = build({"f": {"plan": "null", "onSuccess": "function:f"}})
    house.accept("f")
    until(lambda: house.listed(state="Parked"), "the last of them")
    house.restart()
    found = house.all_ended()
    assert sorted(one["state"] for one in found) == ["Parked"] + ["Succeeded"] * 17
    assert len(house.lines()) == 17


def test_a_function_that_may_not_run(build, tmp_path):
    records = tmp_path / "records.jsonl"
    house = build({"f": {"concurrency": 0, "onFailure": f"file:{records}"}})
    ended = house.ended(house.accept("f"))
    assert (ended["state"], ended["reason"]) == ("Exhausted", "ZeroReservedConcurrency")
    house.all_ended()
    house.restart()
    assert house.all_ended() and len(read_lines(records)) == 1
    assert house.lines() == []
