"""The ways a hostile definition can take to the server, and what must hold on each of them.

Each route is watched: how long the innocent clients wait, how much memory the server takes, whether it lives.
What is wrong is collected, so that one run shows all of it.
"""

import concurrent.futures
import dataclasses
import signal
import subprocess
import time
import uuid

from botocore.exceptions import BotoCoreError, ClientError, ReadTimeoutError

from corpus import NEVER
from everstep import ROLE, until

# The promises.
INNOCENT_SECONDS_MAX = 1.0
STOP_SECONDS_MAX = 5
SIGTERM_SECONDS_MAX = 15
RESTART_SECONDS_MAX = 10
TEST_STATE_SECONDS_MAX = 30
RESIDENT_KIB_MAX = 1536 * 1024
CHILDREN = 5
STATES_MAX = 8
# How long anything else may take before the server is given up.
ANSWER_SECONDS_MAX = 20
# How long a hostile execution is watched that need not come to an end.
WATCH_SECONDS = 1.5


@dataclasses.dataclass
class Outcome:
    route: str
    word: str = ""
    seconds: float = 0.0
    innocent_seconds: float = 0.0
    resident_kib: int = 0
    problems: list = dataclasses.field(default_factory=list)


class Trial:
    """One case on each route, by a server that is only replaced when it cannot go on."""

    def __init__(self, case, serve):
        self.case = case
        self.serve = serve
        self.server = serve()
        self.outcomes = []

    def run(self):
        routes = (self.standard, self.children, self.test_state, self.sync, self.express, self.restart, self.terminate)
        for route in routes:
            if not self.observe(route) and route != self.terminate:
                self.server.close()
                self.server = self.serve()

    def observe(self, route):
        """Follows a route; whether the server can go on."""
        outcome = Outcome(route.__name__)
        self.outcomes.append(outcome)
        self.server.forget_peak()
        began = time.monotonic()
        answers = True
        try:
            outcome.word = route(outcome) or ""
        except (AssertionError, BotoCoreError, ClientError) as error:
            outcome.problems.append(f"{type(error).__name__}: {str(error)[:500]}")
        ended = time.monotonic()
        outcome.seconds = ended - began
        if route != self.terminate:
            try:
                self.server.settled(ended)
            except AssertionError as error:
                answers = False
                outcome.problems.append(str(error))
        lives = self.server.lives
        self.judge(outcome, began, time.monotonic())
        if not lives and route != self.terminate:
            outcome.problems.append(f"the server exited: {self.server.process.wait()}: {self.server.said[-3:]}")
        return lives and answers

    def judge(self, outcome, began, ended):
        samples = self.server.between(began, ended)
        # While the server is killed on purpose nobody can be answered.
        expected_away = outcome.route in {"restart", "terminate"} or not self.server.lives
        answered = [one for one in samples if not one.is_away]
        outcome.innocent_seconds = max((one.seconds for one in answered), default=0.0)
        outcome.resident_kib = max(outcome.resident_kib, self.server.memory_kib())
        if outcome.innocent_seconds > INNOCENT_SECONDS_MAX:
            worst = max(answered, key=lambda one: one.seconds)
            outcome.problems.append(f"an innocent call waited {worst.seconds:.1f} s ({worst.kind})")
        if outcome.resident_kib > RESIDENT_KIB_MAX:
            outcome.problems.append(f"{outcome.resident_kib // 1024} MiB resident")
        bad = {one.problem for one in samples if one.problem and not (one.is_away and expected_away)}
        outcome.problems += sorted(bad)[:3]
        panics = [line for line in self.server.said if "panicked" in line]
        outcome.problems += panics[:1]

    # The routes.

    def standard(self, outcome):
        execution = self.start(self.create("STANDARD"))
        word = self.watched(execution, outcome)
        self.read_back(execution)
        return word

    def children(self, outcome):
        """The processor of a distributed Map; what is too large for that is said so by the service."""
        try:
            machine = self.create("STANDARD", self.case.as_children(CHILDREN))
            execution = self.start(machine, self.case.input_of_children(CHILDREN))
        except ClientError as error:
            return self.refused(error)
        ended = self.wait(execution, WATCH_SECONDS)
        return ended["status"] if ended else self.stopped(execution, outcome)

    def test_state(self, outcome):
        """Each state by itself, all at the same time."""
        states = self.case.states()[:STATES_MAX]
        client = self.client(TEST_STATE_SECONDS_MAX)

        def test(state):
            try:
                return client.test_state(definition=state, roleArn=ROLE, input=self.case.input_text)["status"]
            except ReadTimeoutError:
                raise AssertionError(f"TestState took more than {TEST_STATE_SECONDS_MAX} s: {state[:100]}") from None
            except ClientError as error:
                return self.refused(error)

        with concurrent.futures.ThreadPoolExecutor(len(states)) as pool:
            return ", ".join(sorted(set(pool.map(test, states))))

    def sync(self, outcome):
        """StartSyncExecution, by a caller with little patience."""
        try:
            machine = self.create("EXPRESS")
            done = self.client(WATCH_SECONDS).start_sync_execution(stateMachineArn=machine, input=self.case.input_text)
        except ReadTimeoutError:
            return "RUNNING"
        except ClientError as error:
            return self.refused(error)
        return self.judged(done, outcome)

    def express(self, outcome):
        try:
            machine = self.create("EXPRESS")
            self.client().start_execution(stateMachineArn=machine, input=self.case.input_text)
        except ClientError as error:
            return self.refused(error)
        # Nobody can ask for it: as long as the synchronous one took.
        self.pass_time(min(WATCH_SECONDS, 2 * self.outcomes[-2].seconds))
        return "started"

    def restart(self, outcome):
        """Killed while it runs, and started again: it continues, and the others are served again soon."""
        execution = self.start(self.create("STANDARD"))
        self.wait(execution, WATCH_SECONDS)
        outcome.resident_kib = self.server.memory_kib()
        self.server.kill()
        self.server.start()
        began = time.monotonic()
        took = self.server.settled(began) - began
        if took > RESTART_SECONDS_MAX:
            outcome.problems.append(f"innocent clients waited {took:.1f} s for the restart")
        return self.watched(execution, outcome)

    def terminate(self, outcome):
        """One SIGTERM while it runs is enough."""
        execution = self.start(self.create("STANDARD"))
        self.wait(execution, WATCH_SECONDS / 3)
        outcome.resident_kib = self.server.memory_kib()
        process = self.server.process
        process.send_signal(signal.SIGTERM)
        try:
            code = process.wait(SIGTERM_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"not stopped {SIGTERM_SECONDS_MAX} s after SIGTERM") from None
        assert code == 0, f"exit code {code}: {self.server.said[-3:]}"
        return "stopped"

    # What they share.

    def client(self, seconds=ANSWER_SECONDS_MAX):
        return self.server.client(timeout=seconds)

    def create(self, kind, definition=None):
        given = {"name": f"h-{uuid.uuid4()}", "roleArn": ROLE, "type": kind}
        return self.client().create_state_machine(definition=definition or self.case.definition_text, **given)["stateMachineArn"]

    def start(self, machine, given=None):
        return self.client().start_execution(stateMachineArn=machine, input=given or self.case.input_text)["executionArn"]

    def pass_time(self, seconds):
        """For executions nobody can ask for. Over as soon as the server is."""
        deadline = time.monotonic() + seconds
        until(lambda: not self.server.lives or time.monotonic() > deadline, "the end of the watch", seconds + 1)

    def wait(self, execution, seconds):
        """What is known of an execution that has ended by then, else nothing."""
        client = self.client()

        def over():
            described = client.describe_execution(executionArn=execution)
            return described if described["status"] != "RUNNING" else None

        try:
            return until(over, seconds=seconds)
        except AssertionError:
            return None

    def watched(self, execution, outcome):
        """Waits for the end the case promises; what does not end is stopped."""
        ended = self.wait(execution, self.case.seconds if self.case.must_end else WATCH_SECONDS)
        if ended:
            return self.judged(ended, outcome)
        if self.case.must_end:
            outcome.problems.append(f"not over after {self.case.seconds} s")
        return self.stopped(execution, outcome)

    def judged(self, ended, outcome):
        found = " ".join([ended["status"]] + ([ended["error"]] if ended.get("error") else []))
        expected = self.case.ends
        named = expected.split(" ")[0] in {"SUCCEEDED", "FAILED"}
        if (named and found != expected) or expected == NEVER:
            outcome.problems.append(f"{found}, expected {expected}: {ended.get('cause', '')[:200]}")
        return found

    def stopped(self, execution, outcome):
        began = time.monotonic()
        try:
            self.client().stop_execution(executionArn=execution)
            ended = self.wait(execution, ANSWER_SECONDS_MAX)
        except ReadTimeoutError:
            ended = None
        took = time.monotonic() - began
        if took > STOP_SECONDS_MAX or not ended:
            outcome.problems.append(f"StopExecution took {took:.1f} s" if ended else "it could not be stopped")
        return ended["status"] if ended else "RUNNING"

    def read_back(self, execution):
        """A page costs what is on it."""
        client = self.client()
        for reverse in (False, True):
            page = client.get_execution_history(executionArn=execution, maxResults=1, reverseOrder=reverse)
            assert len(page["events"]) == 1
            if token := page.get("nextToken"):
                client.get_execution_history(executionArn=execution, maxResults=1, reverseOrder=reverse, nextToken=token)
        client.describe_execution(executionArn=execution)

    def refused(self, error):
        """A refusal by name is an answer; an internal error is not."""
        status = error.response["ResponseMetadata"]["HTTPStatusCode"]
        code = error.response["Error"]["Code"]
        assert status < 500, f"{status} {code}: {error}"
        return code
