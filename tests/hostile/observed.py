"""A server under observation: its innocent clients, its memory, and whether it lives."""

import dataclasses
import json
import pathlib
import statistics
import subprocess
import sys
import threading
import time

from definitions import PASS
from everstep import ROLE, Server, until
from innocent import PAUSE_SECONDS

KINDS = ("standard", "express", "health")
# Innocent clients that are not answered for so long are not answered at all.
SETTLED_SECONDS = 30
INNOCENT = pathlib.Path(__file__).parent / "innocent.py"


@dataclasses.dataclass(frozen=True)
class Sample:
    kind: str
    began: float
    ended: float
    problem: str | None

    @property
    def seconds(self):
        return self.ended - self.began

    @property
    def is_away(self):
        return (self.problem or "").startswith("away")


class Observed(Server):
    """Hostile executions may fail, and the server may say so: only its end and its panics are bad news."""

    def __init__(self, data, **given):
        super().__init__(data, **given)
        client = self.client()
        machines = [
            client.create_state_machine(name=f"innocent-{kind}", definition=PASS, roleArn=ROLE, type=kind)
            for kind in ("STANDARD", "EXPRESS")
        ]
        self.samples = []
        command = [sys.executable, INNOCENT, str(self.port)] + [made["stateMachineArn"] for made in machines]
        self.innocent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        self.settled(time.monotonic())

    def read(self):
        for line in self.innocent.stdout:
            self.samples.append(Sample(**json.loads(line)))

    def settled(self, since, seconds=SETTLED_SECONDS):
        """Waits until each innocent client has made a call that began after a moment, and returns when that was."""

        def first(kind):
            return next((one.ended for one in self.samples if one.kind == kind and one.began >= since and not one.problem), None)

        def all_there():
            if not self.lives:
                return [time.monotonic()]
            found = [first(kind) for kind in KINDS]
            return found if all(found) else None

        return max(until(all_there, "an answer to each innocent client", seconds))

    def between(self, since, to, kinds=KINDS):
        return [one for one in list(self.samples) if one.ended >= since and one.began <= to and one.kind in kinds]

    def measured(self, samples, seconds=60):
        """How long calls take, from now on: by kind, the median and the 99th percentile. Where they take so long that
        there are few of them, those there are."""
        since = time.monotonic()
        found = {}

        def enough():
            now = time.monotonic()
            found.update({kind: [one for one in self.between(since, now, [kind]) if one.began >= since] for kind in KINDS})
            wanted = samples if now < since + seconds else 2
            return all(len(calls) >= wanted for calls in found.values())

        until(enough, "calls of each innocent client", 4 * seconds)
        return {kind: Latency(calls) for kind, calls in found.items()}

    @property
    def lives(self):
        return self.process.poll() is None

    def memory_kib(self, field="VmHWM"):
        """The peak since it was last forgotten."""
        try:
            status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        except OSError:
            return 0
        return next((int(line.split()[1]) for line in status.splitlines() if line.startswith(f"{field}:")), 0)

    def forget_peak(self):
        if self.lives:
            pathlib.Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")

    def close(self):
        self.innocent.stdin.close()
        self.innocent.wait()
        self.reader.join()
        self.innocent.stdout.close()
        if self.lives:
            self.kill()


def waits(seconds):
    """A client that waits for an answer does not call meanwhile: the calls it would have made would have waited too."""
    yield seconds
    while (seconds := seconds - PAUSE_SECONDS) > PAUSE_SECONDS:
        yield seconds


class Latency:
    """Of several calls, in milliseconds."""

    def __init__(self, samples):
        milliseconds = [1000 * each for one in samples for each in waits(one.seconds)]
        bounds = statistics.quantiles(milliseconds, n=100, method="inclusive")
        self.p50, self.p99 = bounds[49], bounds[98]
        self.worst = max(1000 * one.seconds for one in samples)

    def __str__(self):
        return f"p50 {self.p50:.1f} ms, p99 {self.p99:.1f} ms, worst {self.worst:.0f} ms"
