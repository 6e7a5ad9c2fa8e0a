"""Callers that mean harm, or have lost their minds: the server answers what it can, and stays as it was.

Whatever reaches an operation is answered in the protocol's shape, never with a status of 500 or more. What is
not HTTP is refused by the HTTP layer, which knows no shapes: there only the status is looked at.
"""

import base64
import http.client
import json
import os
import random
import re
import resource
import select
import socket
import subprocess
import threading

import pytest

from definitions import passing, task, text, waiting
from everstep import DEADLINE_SECONDS, ROLE, Server, until
from malformed import JSON, requests

SEED = 2016
COUNT = 10_000
WARM_UP = 1500
# What the resident memory may grow by after the warm-up: allocators do not give everything back.
GROWTH_MAX_KIB = 32 * 1024
MIB = 1024 * 1024
# What all bodies that are being received may take, as buffers that double when they are full.
BODIES_MAX_KIB = 2 * 128 * 1024
# What all answers that are being written may take, with those that wait for room and those that are being made.
ANSWERS_MAX_KIB = 512 * 1024


@pytest.fixture(scope="module")
def hostile_server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("hostile") / "store")
    yield server
    server.stop()


def memory_kib(server, line="VmRSS"):
    with open(f"/proc/{server.process.pid}/status") as status:
        [found] = [row.split()[1] for row in status if row.startswith(line)]
    return int(found)


def connect(server):
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=DEADLINE_SECONDS)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def head(*more, operation="ListStateMachines", line="POST / HTTP/1.1"):
    usual = ["Host: localhost", f"Content-Type: {JSON}", f"X-Amz-Target: AWSStepFunctions.{operation}"]
    return "\r\n".join([line, *usual, *more, "", ""]).encode()


def received(connection):
    """All that comes until the other side ends it; nothing if it was cut off."""
    found = b""
    try:
        while part := connection.recv(65536):
            found += part
    except ConnectionError:
        pass
    return found


def exchange(server, sent):
    """What is answered to some bytes: the status, or None if the connection was just closed."""
    with connect(server) as connection:
        try:
            connection.sendall(sent)
        except ConnectionError:
            pass
        answer = http.client.HTTPResponse(connection)
        try:
            answer.begin()
            return answer.status, answer.read()
        except (http.client.HTTPException, ConnectionError):
            return None, b""


def refusal(body):
    """The code of an error in the protocol's shape."""
    answer = json.loads(body)
    assert isinstance(answer["__type"], str) and isinstance(answer.get("message", answer.get("Message")), str), answer
    return answer["__type"].rsplit("#", 1)[1]


def alive(server):
    assert "stateMachines" in server.client().list_state_machines()
    server.assert_calm()


def hurl(server, seed, count):
    """Sends malformed requests over connections that are kept, and looks at every answer."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=DEADLINE_SECONDS)
    for number, (kind, target, content_type, body, allowed) in enumerate(requests(random.Random(seed), count)):
        where = f"seed {seed}, number {number}, {kind}: {target} {body[:200]!r}"
        given = body if isinstance(body, bytes) else body.encode("utf-8", "surrogatepass")
        connection.request("POST", "/", given, {"Content-Type": content_type, "X-Amz-Target": target})
        answer = connection.getresponse()
        found = answer.read()
        assert answer.status in {200, 400, 402, 409}, f"{answer.status} {where}"
        if answer.status == 200:
            assert not allowed, f"it was taken: {where}"
            continue
        code = refusal(found)
        assert not allowed or code in allowed, f"{code}, not {allowed}: {where}"
    connection.close()


class Slow:
    """Callers that send a byte now and then, or none at all, and never come to an end."""

    def __init__(self, server, count=100):
        whole = head("Content-Length: 100")
        starts = [b"P", whole[: len(whole) // 2], whole, whole + b'{"maxResu']
        self.connections = [connect(server) for _ in range(count)]
        self.over = threading.Event()
        for number, connection in enumerate(self.connections):
            connection.sendall(starts[number % len(starts)])
        self.dripping = threading.Thread(target=self.drip)
        self.dripping.start()

    def drip(self):
        while not self.over.wait(1):
            for connection in self.connections[::2]:
                try:
                    connection.send(b"x")
                except OSError:
                    pass

    def are_turned_away(self):
        try:
            for connection in self.connections:
                found = received(connection)
                assert not found or found.split()[1] in {b"400", b"408"}, found
                connection.close()
        finally:
            self.over.set()
            self.dripping.join()


def test_ten_thousand_malformed_requests(hostile_server):
    """While a hundred slow ones hold on to their connections."""
    slow = Slow(hostile_server)
    try:
        hurl(hostile_server, SEED, WARM_UP)
        before = memory_kib(hostile_server)
        hurl(hostile_server, SEED + 1, COUNT)
    finally:
        slow.are_turned_away()
    after = memory_kib(hostile_server)
    print(f"resident: {before // 1024} MiB before, {after // 1024} MiB after {COUNT} requests")
    assert after - before < GROWTH_MAX_KIB
    alive(hostile_server)


@pytest.mark.parametrize("chunked", [False, True])
def test_bodies_of_a_hundred_mebibytes(hostile_server, chunked):
    alive(hostile_server)
    before = memory_kib(hostile_server, "VmHWM")
    part = b'{"a":"' + b"x" * (MIB - 6)

    def sent(connection):
        if chunked:
            connection.sendall(head("Transfer-Encoding: chunked"))
            for _ in range(100):
                connection.sendall(b"%x\r\n%s\r\n" % (len(part), part))
            connection.sendall(b"0\r\n\r\n")
        else:
            connection.sendall(head(f"Content-Length: {100 * len(part)}"))
            for _ in range(100):
                connection.sendall(part)

    for _ in range(3):
        with connect(hostile_server) as connection:
            sent(connection)
            answer = http.client.HTTPResponse(connection)
            answer.begin()
            assert (answer.status, refusal(answer.read())) == (400, "SerializationException")
    peak = memory_kib(hostile_server, "VmHWM") - before
    print(f"peak: {peak // 1024} MiB more")
    assert peak < GROWTH_MAX_KIB
    alive(hostile_server)


def test_many_large_bodies_that_never_end(hostile_server):
    """What is being received is bounded as a whole: small requests are answered, large ones put off."""
    almost = b'{"name":"' + b"x" * (4 * MIB - 100)
    before = memory_kib(hostile_server, "VmHWM")
    connections = [connect(hostile_server) for _ in range(150)]
    try:
        for connection in connections:
            connection.sendall(head(f"Content-Length: {4 * MIB}") + almost)
        alive(hostile_server)
        status, _, body = hostile_server.post("ListStateMachines", {"nextToken": "x" * MIB})
        assert (status, refusal(json.dumps(body))) == (400, "ThrottlingException")
    finally:
        for connection in connections:
            connection.close()
    peak = memory_kib(hostile_server, "VmHWM") - before
    print(f"peak: {peak // 1024} MiB more")
    assert peak < BODIES_MAX_KIB + GROWTH_MAX_KIB

    def there_is_room():
        _, _, body = hostile_server.post("ListStateMachines", {"nextToken": "x" * MIB})
        return refusal(json.dumps(body)) == "ValidationException"

    until(there_is_room, "room for large bodies")


@pytest.fixture
def many_sockets():
    """Lets this process have as many sockets as the tests need."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def open_files(server):
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


def test_callers_that_do_not_read(tmp_path, many_sockets):
    """Their answers are bounded as a whole, others are answered, and the connections do not stay."""
    server = Server(tmp_path / "store")
    sfn = server.client()
    chain = {f"S{n}": {"Type": "Pass", "Next": f"S{n + 1}"} for n in range(12)} | {"S12": {"Type": "Succeed"}}
    machine = sfn.create_state_machine(name="long", definition=text(chain), roleArn=ROLE)["stateMachineArn"]
    execution = sfn.start_execution(stateMachineArn=machine, input=json.dumps("x" * 200_000))["executionArn"]
    until(lambda: sfn.describe_execution(executionArn=execution)["status"] == "SUCCEEDED", "its end")
    files, before = open_files(server), memory_kib(server, "VmHWM")
    body = json.dumps({"executionArn": execution}).encode()
    sent = head(f"Content-Length: {len(body)}", operation="GetExecutionHistory") + body
    connections = []
    for _ in range(300):
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", server.port))
        connection.sendall(sent)
        connections.append(connection)
    waiting = select.poll()
    for connection in connections:
        waiting.register(connection, select.POLLIN)
    until(lambda: len(waiting.poll(0)) == len(connections), "the beginning of every answer")
    alive(server)
    until(lambda: open_files(server) < files + 10, "the end of their connections")
    peak = memory_kib(server, "VmHWM") - before
    print(f"peak: {peak // 1024} MiB more")
    assert peak < ANSWERS_MAX_KIB
    for connection in connections:
        connection.close()
    pages = list(sfn.get_paginator("get_execution_history").paginate(executionArn=execution))
    assert [event["id"] for page in pages for event in page["events"]] == list(range(1, 29))
    assert len(pages) > 1
    server.stop()


def test_silent_callers_and_few_file_descriptors(tmp_path, many_sockets):
    """More connections than descriptors: the store keeps those it needs, and the server does its work."""
    server = Server(tmp_path / "store", under=["prlimit", "--nofile=1024:1024"])
    sfn = server.client()
    machine = sfn.create_state_machine(name="m", definition=passing(1), roleArn=ROLE)["stateMachineArn"]
    known = http.client.HTTPConnection("127.0.0.1", server.port, timeout=DEADLINE_SECONDS)
    headers = {"Content-Type": JSON, "X-Amz-Target": "AWSStepFunctions.StartExecution"}

    noise = random.Random(SEED)

    def starts():
        """On a connection that was there before. The store needs a new file every now and then."""
        body = {"stateMachineArn": machine, "input": json.dumps(noise.randbytes(100_000).hex())}
        known.request("POST", "/", json.dumps(body), headers)
        answer = known.getresponse()
        answer.read()
        return answer.status

    assert starts() == 200
    silent = []
    # The last ones wait until the first have been turned away.
    flood = threading.Thread(target=lambda: silent.extend(connect(server) for _ in range(1136)))
    flood.start()
    while flood.is_alive():
        assert starts() == 200
    others = server.client()
    started = others.start_execution(stateMachineArn=machine)["executionArn"]
    until(lambda: others.describe_execution(executionArn=started)["status"] == "SUCCEEDED", "its end")
    for connection in silent:
        connection.close()
    known.close()
    server.stop()


def test_a_body_that_only_claims_to_be_large(hostile_server):
    for length in [2**40, 2**63, 5 * MIB]:
        with connect(hostile_server) as connection:
            connection.sendall(head(f"Content-Length: {length}") + b"{}")
            connection.shutdown(socket.SHUT_WR)
            found = received(connection)
            assert not found or found.startswith(b"HTTP/1.1 400 "), found
    alive(hostile_server)


NO_HTTP = {
    "noise": bytes(random.Random(SEED).randrange(256) for _ in range(5000)),
    "TLS": bytes.fromhex("16030100f4010000f00303") + b"\0" * 240,
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0" * 60,
    "no host": b"POST / HTTP/1.1\r\n\r\n",
    "bad version": head(line="POST / HTTP/7.3"),
    "bad method": head(line="P\0ST / HTTP/1.1"),
    "two lengths": head("Content-Length: 2", "Content-Length: 3") + b"{}",
    "negative length": head("Content-Length: -1"),
    "length of words": head("Content-Length: two"),
    "huge length": head(f"Content-Length: {10**30}"),
    "length and chunks": head("Content-Length: 5", "Transfer-Encoding: chunked") + b"0\r\n\r\nPOST",
    "bad chunk": head("Transfer-Encoding: chunked") + b"zz\r\n{}\r\n0\r\n\r\n",
    "huge chunk": head("Transfer-Encoding: chunked") + b"f" * 30 + b"\r\n{}",
    "unknown encoding": head("Transfer-Encoding: gzip", "Content-Length: 2") + b"{}",
    "a header of a mebibyte": head("X-Long: " + "a" * MIB, "Content-Length: 2") + b"{}",
    "thousands of headers": head(*[f"X-{number}: y" for number in range(5000)], "Content-Length: 2") + b"{}",
    "a long target": head("Content-Length: 2", line="POST /" + "a" * MIB + " HTTP/1.1") + b"{}",
    "control characters": head("X-Odd: \x01\x02", "Content-Length: 2") + b"{}",
    "folded header": head("X-Folded: a", " b", "Content-Length: 2") + b"{}",
}


@pytest.mark.parametrize("sent", NO_HTTP.values(), ids=NO_HTTP.keys())
def test_what_is_not_http(hostile_server, sent):
    status, body = exchange(hostile_server, sent)
    assert status is None or 400 <= status < 500, (status, body)
    alive(hostile_server)


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [("GET", "/", 405), ("PUT", "/", 405), ("DELETE", "/", 405), ("OPTIONS", "/", 405), ("BREW", "/", 405)]
    + [("POST", "/elsewhere", 404), ("GET", "/../etc/passwd", 404), ("POST", "/health", 405), ("POST", "*", 404)],
)
def test_other_methods_and_paths(hostile_server, method, path, expected):
    status, body = exchange(hostile_server, head("Content-Length: 2", line=f"{method} {path} HTTP/1.1") + b"{}")
    assert (status, refusal(body)) == (expected, "UnknownOperationException")


@pytest.mark.parametrize("path", ["/", "/2015-03-31/functions/f/invocations", "/health", "/elsewhere"])
@pytest.mark.parametrize("origin", ["http://evil.example", "http://localhost:3000", "null"])
def test_web_pages_are_not_answered(hostile_server, path, origin):
    sent = head(f"Origin: {origin}", "Content-Length: 2", line=f"POST {path} HTTP/1.1") + b"{}"
    status, body = exchange(hostile_server, sent)
    assert (status, refusal(body)) == (403, "AccessDeniedException")
    assert "web pages" in json.loads(body)["Message"]


def test_a_name_that_was_made_to_point_here(hostile_server):
    sent = head("Origin: http://evil.example", "Content-Length: 2").replace(b"Host: localhost", b"Host: evil.example")
    status, body = exchange(hostile_server, sent + b"{}")
    assert (status, refusal(body)) == (403, "AccessDeniedException")
    status, _ = exchange(hostile_server, head("Origin: http://localhost", "Content-Length: 2") + b"{}")
    assert status == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8083", "sync-evil.example", "localhost.evil.example", ""])
def test_a_host_that_is_not_this_machine(hostile_server, host):
    """A page whose name was made to point here needs no `Origin` for some requests."""
    sent = head("Content-Length: 2").replace(b"Host: localhost", f"Host: {host}".encode())
    status, body = exchange(hostile_server, sent + b"{}")
    assert (status, refusal(body)) == (403, "AccessDeniedException")
    assert "--allow-host" in json.loads(body)["Message"]


@pytest.mark.parametrize("host", ["LOCALHOST:80", "127.0.0.1", "127.1.2.3:8083", "[::1]:8083", "sync-localhost", "a.localhost"])
def test_hosts_that_are_this_machine(hostile_server, host):
    sent = head("Content-Length: 2").replace(b"Host: localhost", f"Host: {host}".encode())
    status, _ = exchange(hostile_server, sent + b"{}")
    assert status == 200


def test_old_http_is_spoken(hostile_server):
    status, body = exchange(hostile_server, head("Content-Length: 2", line="POST / HTTP/1.0") + b"{}")
    assert status == 200 and "stateMachines" in json.loads(body)


def test_a_body_in_pieces(hostile_server):
    sent = head("Transfer-Encoding: chunked") + b"1\r\n{\r\n1;extension=yes\r\n}\r\n0\r\nTrailer: yes\r\n\r\n"
    status, body = exchange(hostile_server, sent)
    assert status == 200 and "stateMachines" in json.loads(body)


def test_a_caller_that_asks_before_it_sends(hostile_server):
    with connect(hostile_server) as connection:
        connection.sendall(head("Expect: 100-continue", "Content-Length: 2", "Connection: close"))
        assert connection.recv(65536).startswith(b"HTTP/1.1 100 ")
        connection.sendall(b"{}")
        assert received(connection).startswith(b"HTTP/1.1 200 ")


def test_requests_in_a_row_are_answered_in_a_row(hostile_server):
    """Pipelining, good and bad ones mixed."""
    good, bad = b"{}", b'{"maxResults":"x"}'
    bodies = [good, bad] * 50
    sent = b"".join(head(f"Content-Length: {len(body)}") + body for body in bodies)
    with connect(hostile_server) as connection:
        connection.sendall(sent + head("Content-Length: 2", "Connection: close") + good)
        found = received(connection)
    assert re.findall(rb"HTTP/1.1 (\d+) ", found) == [b"200", b"400"] * 50 + [b"200"]


def test_callers_that_go_away(hostile_server):
    """In the middle of the head, of the body, after the request; by half and altogether."""
    whole = head("Content-Length: 2") + b"{}"
    for end in [1, 20, len(whole) - 2, len(whole) - 1, len(whole)]:
        for half in [True, False]:
            for _ in range(20):
                with connect(hostile_server) as connection:
                    connection.sendall(whole[:end])
                    if half:
                        connection.shutdown(socket.SHUT_WR)
                        found = received(connection)
                        assert not found or found.split()[1] in {b"200", b"400", b"408"}, found
    alive(hostile_server)


def test_a_worker_that_goes_away_takes_no_task_along(hostile_server):
    """It waits for a task and closes its connection; the task that comes then is for somebody else."""
    sfn = hostile_server.client()
    activity = sfn.create_activity(name="left")["activityArn"]
    body = json.dumps({"activityArn": activity}).encode()
    gone = [connect(hostile_server) for _ in range(50)]
    for connection in gone:
        connection.sendall(head(f"Content-Length: {len(body)}", operation="GetActivityTask") + body)
    for connection in gone:
        connection.close()
    machine = sfn.create_state_machine(name="left", definition=task(activity), roleArn=ROLE)["stateMachineArn"]
    execution = sfn.start_execution(stateMachineArn=machine)["executionArn"]
    taken = sfn.get_activity_task(activityArn=activity)
    sfn.send_task_success(taskToken=taken["taskToken"], output="1")
    until(lambda: sfn.describe_execution(executionArn=execution)["status"] == "SUCCEEDED", "its end")


@pytest.mark.parametrize(
    ("authorization", "expected"),
    [
        (None, "MissingAuthenticationTokenException"),
        ("", "IncompleteSignatureException"),
        ("Basic YTpi", "IncompleteSignatureException"),
        ("AWS4-HMAC-SHA256", "IncompleteSignatureException"),
        ("AWS4-HMAC-SHA256 Credential=, SignedHeaders=, Signature=", "IncompleteSignatureException"),
        ("AWS4-HMAC-SHA256 " + "Credential=a/b," * 500, "IncompleteSignatureException"),
        (
            "AWS4-HMAC-SHA256 Credential=K/20200101/r/states/aws4_request, SignedHeaders=host, Signature=00",
            "IncompleteSignatureException",
        ),
    ],
)
def test_callers_without_a_good_signature(guarded, authorization, expected):
    given = {} if authorization is None else {"Authorization": authorization}
    status, _, body = guarded.post("ListStateMachines", {}, given)
    assert status == 400 and refusal(json.dumps(body)) == expected


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("guarded") / "store", {"EVERSTEP_ACCESS_KEYS": "K:S"})
    yield server
    server.stop()


def outcome(server, definition):
    sfn = server.client()
    name = f"m{random.getrandbits(64)}"
    machine = sfn.create_state_machine(name=name, definition=definition, roleArn=ROLE)["stateMachineArn"]
    execution = sfn.start_execution(stateMachineArn=machine)["executionArn"]

    def ended():
        described = sfn.describe_execution(executionArn=execution)
        return described if described["status"] != "RUNNING" else None

    return until(ended, "its end")


def test_task_tokens_cannot_be_made_up(tmp_path):
    """Only the server can make one. It outlives the server."""
    server = Server(tmp_path / "store")
    sfn = server.client()
    activity = sfn.create_activity(name="a")["activityArn"]
    machine = sfn.create_state_machine(name="m", definition=task(activity), roleArn=ROLE)["stateMachineArn"]
    execution = sfn.start_execution(stateMachineArn=machine)["executionArn"]
    token = sfn.get_activity_task(activityArn=activity)["taskToken"]

    def encoded(name):
        return base64.urlsafe_b64encode(name).rstrip(b"=").decode()

    forged = [encoded(f"{frame}.{number}.{execution}".encode()) for frame in range(3) for number in range(5)]
    known = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    forged += [encoded(bytes([known[0] ^ 1]) + known[1:]), encoded(known[:-1]), token[:20], token + "A"]
    for guess in forged:
        status, _, body = server.post("SendTaskSuccess", {"taskToken": guess, "output": '"stolen"'})
        assert (status, refusal(json.dumps(body))) == (400, "InvalidToken"), guess
    server.kill()
    server.start()
    sfn = server.client()
    sfn.send_task_success(taskToken=token, output='"mine"')
    until(lambda: sfn.describe_execution(executionArn=execution)["status"] == "SUCCEEDED", "its end")
    assert sfn.describe_execution(executionArn=execution)["output"] == '"mine"'
    server.stop()


def fills(sfn, machine):
    """Starts executions until no more are accepted: the refusal."""
    noise = random.Random(SEED)
    for _ in range(2000):
        try:
            sfn.start_execution(stateMachineArn=machine, input=json.dumps(noise.randbytes(100_000).hex()))
        except sfn.exceptions.ClientError as error:
            return error.response
    raise AssertionError("all were accepted")


def test_a_disk_budget(tmp_path):
    """New work is refused; what runs continues, and everything else is answered."""
    server = Server(tmp_path / "store", options=["--max-disk", "150M"])
    sfn = server.client()
    machine = sfn.create_state_machine(name="m", definition=waiting(5), roleArn=ROLE)["stateMachineArn"]
    first = sfn.start_execution(stateMachineArn=machine)["executionArn"]
    refused = fills(sfn, machine)
    assert refused["ResponseMetadata"]["HTTPStatusCode"] == 503
    assert "--max-disk" in refused["Error"]["Message"], refused
    with pytest.raises(sfn.exceptions.ClientError, match="new work is refused"):
        sfn.create_activity(name="a")
    until(lambda: sfn.describe_execution(executionArn=first)["status"] == "SUCCEEDED", "its end")
    some = sfn.list_executions(stateMachineArn=machine, maxResults=1)["executions"][0]["executionArn"]
    sfn.stop_execution(executionArn=some)
    sfn.delete_state_machine(stateMachineArn=machine)
    assert any(line.startswith("warning: ") and "the data directory has" in line for line in server.said), server.said
    server.stop()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a file system")
def test_a_disk_that_others_fill(tmp_path):
    """Before it is full new work is refused, and accepted again when there is room."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=500m", "tmpfs", tmp_path], check=True)
    try:
        server = Server(tmp_path / "store")
        sfn = server.client()
        machine = sfn.create_state_machine(name="m", definition=passing(1), roleArn=ROLE)["stateMachineArn"]

        def accepts():
            status, _, _ = server.post("StartExecution", {"stateMachineArn": machine})
            return status == 200

        assert accepts()
        room = os.statvfs(tmp_path)
        ballast = tmp_path / "ballast"
        with open(ballast, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, room.f_bavail * room.f_frsize - 10 * MIB)
        until(lambda: not accepts(), "a refusal")
        ballast.unlink()
        until(accepts, "room")
        server.stop()
    finally:
        subprocess.run(["umount", "--lazy", tmp_path], check=True)


METADATA = [
    "http://169.254.169.254/latest/meta-data/",
    "https://169.254.170.2/v2/credentials",
    "http://[fe80::1]/",
    "http://[fd00:ec2::254]/latest/",
    "http://[::ffff:169.254.169.254]/",
    "http://100.100.100.200/latest/meta-data/",
    # The system's resolver reads these as 169.254.169.254.
    "http://2852039166/latest/meta-data/",
    "http://0xa9fea9fe/latest/meta-data/",
]


@pytest.mark.parametrize("url", METADATA)
def test_tasks_do_not_reach_metadata_services(hostile_server, url):
    ended = outcome(hostile_server, task(url))
    assert (ended["status"], ended["error"]) == ("FAILED", "States.Permissions"), ended
    assert "link-local" in ended["cause"]


def test_tasks_that_call_urls_can_be_refused(tmp_path):
    server = Server(tmp_path / "store", options=["--http-tasks", "refuse"])
    ended = outcome(server, task(server.url))
    assert (ended["status"], ended["error"]) == ("FAILED", "States.Permissions"), ended
    assert "--http-tasks allow" in ended["cause"]
    server.stop()


def test_it_still_does_its_work(hostile_server):
    sfn = hostile_server.client()
    machine = sfn.create_state_machine(name="good", type="EXPRESS", definition=passing(1), roleArn=ROLE)
    done = sfn.start_sync_execution(stateMachineArn=machine["stateMachineArn"])
    assert (done["status"], done["output"]) == ("SUCCEEDED", "1")
