"""A handler that does what its event says."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

calls = 0


class OutOfStockError(Exception):
    pass


def deep():
    raise OutOfStockError("no widgets left")


def post(path, body):
    """Speaks to the Runtime API behind the client's back; returns the answer's head."""
    host, port = os.environ["AWS_LAMBDA_RUNTIME_API"].split(":")
    with socket.create_connection((host, int(port))) as connection:
        head = f"POST /2018-06-01/runtime{path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n"
        connection.sendall(f"{head}Connection: close\r\n\r\n".encode() + body)
        return b"".join(iter(lambda: connection.recv(65536), b"")).decode()


def stream(request_id, chunks, trailers):
    host, port = os.environ["AWS_LAMBDA_RUNTIME_API"].split(":")
    path = f"/2018-06-01/runtime/invocation/{request_id}/response"
    with socket.create_connection((host, int(port))) as connection:
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n"
        names = ", ".join(name for name, _ in trailers)
        connection.sendall((head + (f"Trailer: {names}\r\n" if names else "") + "\r\n").encode())
        for chunk in chunks:
            connection.sendall(f"{len(chunk):x}\r\n{chunk}\r\n".encode())
        end = "".join(f"{name}: {value}\r\n" for name, value in trailers)
        connection.sendall(f"0\r\n{end}\r\n".encode())
        return b"".join(iter(lambda: connection.recv(65536), b"")).decode()


def bomb():
    """Forks for as long as it may."""
    while True:
        try:
            os.fork()
        except OSError:
            time.sleep(0.05)


def handler(event, context):
    global calls
    calls += 1
    do = event.get("do") if isinstance(event, dict) else None
    with_ = event.get("with") if isinstance(event, dict) else None
    if do == "raise":
        deep()
    if do == "nan":
        return float("nan")
    if do == "unserialisable":
        return object()
    if do == "nothing":
        return None
    if do == "sys.exit":
        sys.exit(with_)
    if do == "exit":
        os._exit(with_)
    if do == "signal":
        os.kill(os.getpid(), with_)
        time.sleep(60)
    if do == "sleep":
        time.sleep(with_)
    if do == "large":
        return "x" * with_
    if do == "say":
        print("said")
        return event
    if do == "pid":
        return [os.getpid(), calls]
    if do == "environment":
        return dict(os.environ)
    if do == "directory":
        return os.getcwd()
    if do == "context":
        custom = context.client_context.custom if context.client_context else None
        left = context.get_remaining_time_in_millis()
        return [
            context.aws_request_id, context.function_name, context.function_version,
            context.memory_limit_in_mb, context.invoked_function_arn, custom, 0 < left <= with_,
        ]
    if do == "print":
        for line in with_:
            print(line)
        raise ValueError("printed")
    if do == "bytes":
        sys.stdout.buffer.write(b"caf\xe9 \xff\n")
        sys.stdout.flush()
        raise ValueError("printed")
    if do == "flood":
        block = b"x" * 1023 + b"\n"
        for _ in range(with_):
            os.write(1, block * 1024)
        return "survived"
    if do == "eat":
        eaten = []
        for _ in range(with_):
            eaten.append(bytearray(os.urandom(1)) * (1 << 20))
        return len(eaten)
    if do == "bomb":
        bomb()
    if do == "answer for":
        return post(f"/invocation/{with_}/response", b"1").split("\r\n")[0]
    if do == "answer for, as a child":
        # In a session of its own, as some supervisors start what they supervise.
        code = f"import app; print(app.post('/invocation/{with_}/response', b'1').split(chr(13))[0])"
        started = subprocess.run([sys.executable, "-c", code], capture_output=True, start_new_session=True)
        return started.stdout.decode().strip() or started.stderr.decode()
    if do == "wait for":
        begun, gate = with_
        open(begun, "w").close()
        while not os.path.exists(gate):
            time.sleep(0.01)
        return "waited"
    if do == "answer twice":
        post(f"/invocation/{context.aws_request_id}/response", b'"first"')
        return "second"
    if do == "answer and exit":
        post(f"/invocation/{context.aws_request_id}/response", b'"said"')
        os._exit(9)
    if do == "answer and hang":
        post(f"/invocation/{context.aws_request_id}/response", b'"said"')
        time.sleep(60)
    if do == "raw answer":
        return post(f"/invocation/{context.aws_request_id}/response", bytes(with_)).split("\r\n")[0]
    if do == "answer into":
        head = post(f"/invocation/{context.aws_request_id}/response", b"1").split("\r\n")[0]
        with open(with_, "w") as file:
            file.write(head)
    if do == "raw error":
        post(f"/invocation/{context.aws_request_id}/error", with_.encode())
    if do == "break off":
        host, port = os.environ["AWS_LAMBDA_RUNTIME_API"].split(":")
        connection = socket.create_connection((host, int(port)))
        path = f"/2018-06-01/runtime/invocation/{context.aws_request_id}/response"
        connection.sendall(f"POST {path} HTTP/1.1\r\nContent-Length: 100\r\n\r\n[1,".encode())
        os._exit(7)
    if do == "stream":
        stream(context.aws_request_id, *with_)
    if do == "other path":
        return post(with_, b"{}").split("\r\n")[0]
    if do == "child":
        # Leaves its group, but not its session.
        pid = os.fork()
        if pid == 0:
            os.setpgid(0, 0)
            time.sleep(600)
            os._exit(0)
        return pid
    if do == "child and exit":
        pid = os.fork()
        if pid == 0:
            time.sleep(600)
            os._exit(0)
        print(json.dumps(pid), flush=True)
        os._exit(1)
    if do == "threads":
        threading.Thread(target=time.sleep, args=(0.2,)).start()
        return "left one"
    return event


def slow_start(event, context):
    return event


if os.environ.get("START") == "sleep":
    time.sleep(60)
