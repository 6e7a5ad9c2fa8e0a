"""Calls that somebody waits for, and functions that are services elsewhere."""

import base64
import concurrent.futures
import contextlib
import http.server
import threading

from everstep import until
from house import fixed


@contextlib.contextmanager
def service(*answers):
    """Answers requests one after the other, the last answer for ever; yields its URL and the paths it was asked for."""
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            status, headers, body = answers[min(len(asked), len(answers) - 1)]
            asked.append(self.path)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()


def at(url, **given):
    """A function that is a service: nothing of what others have applies to it."""
    return {"runtime": "http", "url": url, "handler": None, "codeUri": None, "env": None} | given


def test_calls_wait_for_their_turn(build):
    house = build({"f": {"plan": "sleep=0.02+ok"}})
    with concurrent.futures.ThreadPoolExecutor(100) as pool:
        asked = [pool.submit(house.invoke, "f", {"output": n}) for n in range(200)]
        answers = [future.result() for future in asked]
    assert [(status, body) for status, _, body in answers] == [(200, n) for n in range(200)]
    assert len({line["pid"] for line in house.lines()}) <= 16


def test_calls_beyond_what_is_reserved_are_throttled(build):
    house = build({"f": {"plan": "gate=open+ok", "concurrency": 1}, "none": {"concurrency": 0}})
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        first = pool.submit(house.invoke, "f")
        house.called("f")
        status, _, body = house.invoke("f")
        assert (status, body["Type"]) == (429, "User") and "slots" in body["Message"]
        (house.folder / "open").touch()
        assert first.result()[0] == 200
    status, _, body = house.invoke("none")
    assert status == 429 and "may not run" in body["Message"]


def test_what_was_written_is_shown(build):
    house = build({"f": {"plan": "Broken"}})
    tail = {"X-Amz-Log-Type": "Tail"}
    status, headers, _ = house.request("/2015-03-31/functions/f/invocations", {}, tail)
    log = base64.b64decode(headers["X-Amz-Log-Result"]).decode().splitlines()
    assert status == 200 and log[0].startswith("START RequestId: ") and log[-1].startswith("END RequestId: ")
    assert any("[ERROR] Broken: as planned" in line for line in log)
    assert "X-Amz-Log-Result" not in house.invoke("f")[1]
    # What is kept has it too.
    attempts = house.ended(house.accept("f"))["attempts"]
    assert any("[ERROR] Broken: as planned" in line for line in attempts[0]["log"])


def test_instances_are_kept_ready(build):
    house = build({"f": {"minInstances": 2}})
    ready = lambda: {one["name"]: one["idle"] for one in house.operate("ListFunctions")["functions"]} == {"f": 2}
    until(ready, "two that are idle")
    assert not house.lines()


def test_a_service_says_when_to_come_again(build):
    busy = (503, {"Retry-After": "1"}, b"")
    with service(busy, (200, {}, b'{"made": 1}')) as (url, asked):
        house = build({"f": at(url, retry=fixed(2, "10ms"))})
        ended = house.ended(house.accept("f"))
    assert (ended["state"], len(asked)) == ("Succeeded", 2)
    assert ended["attempts"][0]["nextDelayMs"] == 1000


def test_a_service_that_refuses_is_not_asked_again(build):
    with service((404, {}, b'{"what": "order"}')) as (url, asked):
        house = build({"f": at(url, retry=fixed(4, "10ms"))})
        ended = house.ended(house.accept("f"))
    assert (ended["state"], ended["reason"], len(asked)) == ("Exhausted", "NonRetryable", 1)


def test_secrets_are_not_shown(build):
    secret = "s3cr3t-t0k3n"
    with service((500, {}, b""), (200, {}, b"null")) as (url, asked):
        there = f"{url}/hook?token=${{env:TOKEN}}"
        gone = "http://127.0.0.1:1/gone?token=${env:TOKEN}"
        house = build(
            {"f": {"plan": "Broken", "onFailure": there}, "gone": at(gone)},
            environment={"TOKEN": secret},
        )
        id = house.accept("f")
        until(lambda: house.show(id)["routed"], "it is told")
        answer = house.invoke("gone")[2]
        told = [str(house.show(id)), str(answer), str(house.operate("ListFunctions")), *house.server.said]
    assert {path for path in asked} == {f"/hook?token={secret}"}
    assert any("could not be delivered" in line and "${env:TOKEN}" in line for line in house.server.said)
    assert not [line for line in told if secret in line]
    # Nor is it in the store.
    files = [file for file in (house.folder / "store").rglob("*") if file.is_file()]
    assert files and not [file for file in files if secret.encode() in file.read_bytes()]


def test_only_a_success_answers_a_key(build):
    house = build({"f": {"plan": "Broken", "idempotent": "result"}, "g": {"plan": "Broken"}})
    for _ in range(2):
        assert house.invoke("f", {}, key="k")[2]["errorType"] == "Broken"
    assert len(house.lines("f")) == 2
    for _ in range(2):
        assert house.invoke("f", {"plan": "ok", "output": 7}, key="k")[2] == 7
    assert len(house.lines("f")) == 3
    for _ in range(2):
        assert house.invoke("g", {}, key="k")[2]["errorType"] == "Broken"
    assert len(house.lines("g")) == 1
