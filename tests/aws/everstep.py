"""A real `everstep serve`, and clients of it as users make them."""

import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import threading
import time

import boto3
from botocore.config import Config

REGION = "us-east-1"
ACCOUNT = "123456789012"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/everstep"
LISTENS = re.compile(r"listens on (http://[0-9.]+:\d+)")
# Long enough for a busy machine; nothing is asserted about time.
DEADLINE_SECONDS = 60


def arn(rest):
    return f"arn:aws:states:{REGION}:{ACCOUNT}:{rest}"


def until(found, what="what was waited for", seconds=DEADLINE_SECONDS):
    """Asks again and again until something is found, and returns it."""
    deadline = time.monotonic() + seconds
    while True:
        result = found()
        if result:
            return result
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not come within {seconds} s")
        time.sleep(0.01)


class Server:
    """One process. It can be killed and started again on the same data and port."""

    def __init__(self, data, environment=None, options=(), command=None, under=()):
        """`under` is a command that runs it, such as `prlimit`."""
        self.data = pathlib.Path(data)
        self.command = command or [os.environ["EVERSTEP"]]
        self.environment = environment or {}
        self.options = [str(option) for option in options]
        self.under = list(under)
        self.port = 0
        self.process = None
        self.said = []
        self.start()

    def start(self):
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("EVERSTEP_")}
        self.process = subprocess.Popen(
            [*self.under, *self.command, "serve", "--listen", f"127.0.0.1:{self.port}", "--data", str(self.data), *self.options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=inherited | self.environment,
        )
        heard = threading.Event()
        self.ears = threading.Thread(target=self.listen, args=(self.process, heard), daemon=True)
        self.ears.start()
        assert heard.wait(DEADLINE_SECONDS) and self.port, f"the server did not start: {self.said}"

    def listen(self, process, heard):
        for line in process.stderr:
            self.said.append(line.rstrip())
            if found := LISTENS.search(line):
                self.url = found[1]
                self.port = int(found[1].rsplit(":", 1)[1])
                heard.set()
        process.stderr.close()
        heard.set()

    def kill(self):
        """As when the power fails."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.ears.join()
        # A worker that was just being forked has the socket until it becomes another program, or ends.
        until(self.is_free, "the server's port")

    def is_free(self):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", self.port))
                probe.listen()
                return True
            except OSError:
                return False

    def stop(self):
        """As an operator stops it. All it said must be good news."""
        if self.process.poll() is None:
            self.process.terminate()
        assert self.process.wait(DEADLINE_SECONDS) == 0, self.said
        self.ears.join()
        self.assert_calm()

    def assert_calm(self):
        bad = [line for line in self.said if "panicked" in line or "error" in line]
        assert not bad, self.said

    def client(self, key="any", secret="any", retries=0, timeout=70, service="stepfunctions", **config):
        """The SDK puts `sync-` before the host of two operations unless it is configured not to."""
        config = {"inject_host_prefix": False, "max_pool_connections": 50} | config
        return boto3.client(
            service,
            endpoint_url=self.url,
            region_name=REGION,
            aws_access_key_id=key,
            aws_secret_access_key=secret,
            config=Config(retries={"max_attempts": retries}, read_timeout=timeout, **config),
        )

    def post(self, operation, body, headers=None, path="/"):
        """A request as no SDK would send it: status, headers and parsed body."""
        usual = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": f"AWSStepFunctions.{operation}"}
        text = body if isinstance(body, (str, bytes)) else json.dumps(body)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_SECONDS)
        try:
            connection.request("POST", path, text, usual | (headers or {}))
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), json.loads(answer.read())
        finally:
            connection.close()
