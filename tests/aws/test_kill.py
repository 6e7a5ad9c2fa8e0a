"""The server is killed again and again while clients of several kinds work with it.

What a client was told stays true: an execution it was told of is there, ends as it must, with the right
output and a whole history. What it had no answer for is either not there or as good as the others.
"""

import collections
import itertools
import json
import threading

import pytest
from botocore.exceptions import BotoCoreError, ClientError

from conftest import World
from definitions import WAIT, text
from everstep import Server, until

KILLS = 6
STARTERS = 4
WORKERS = 3
# Starts that clients are told of between one kill and the next.
STARTS_PER_KILL = 60

# Longer than a poll: a worker that goes away first may leave its task on the way.
POLL_SECONDS = 70
DOUBLED = {"doubled.$": "$.doubled", "n.$": "$.n"}


def order(activity):
    return text(
        {
            "Prepare": {"Type": "Pass", "Result": True, "ResultPath": "$.prepared", "Next": "Work"},
            "Work": {
                "Type": "Task",
                "Resource": activity,
                # A task whose worker the server kept from it is offered again, and not only when it is late.
                "TimeoutSeconds": 3600,
                "ResultPath": "$.doubled",
                "Next": "Rest",
            },
            "Rest": {"Type": "Wait", "Seconds": 1, "Next": "Finish"},
            "Finish": {"Type": "Pass", "Parameters": DOUBLED, "End": True},
        }
    )


class Load:
    """Clients that do not mind when their server goes away."""

    def __init__(self, server):
        self.server = server
        self.over = threading.Event()
        self.told, self.unanswered, self.stopped = {}, {}, set()
        self.problems = []
        world = World(server, server.client())
        self.activity = world.activity()
        self.order, self.wait = world.machine(order(self.activity)), world.machine(WAIT)
        self.last = world.machine(order(self.activity))
        self.threads = [threading.Thread(target=self.guarded, args=(self.work,)) for _ in range(WORKERS)]
        self.threads += [threading.Thread(target=self.guarded, args=(self.start, i)) for i in range(STARTERS)]
        self.threads += [threading.Thread(target=self.guarded, args=(self.stop,))]

    def goes_on(self):
        """Waits until clients have been told of some more starts."""
        enough = len(self.told) + STARTS_PER_KILL
        until(lambda: self.problems or len(self.told) >= enough, "clients that are told of starts")

    def end(self):
        """Workers that wait for a task get one, so that they see it."""
        self.over.set()
        for _ in range(WORKERS):
            self.server.client().start_execution(stateMachineArn=self.last, input='{"n": 0}')
        [thread.join() for thread in self.threads]

    def guarded(self, job, *arguments):
        timeout = POLL_SECONDS if job == self.work else 2
        try:
            job(self.server.client(retries=1, timeout=timeout), *arguments)
        except Exception as error:
            self.problems.append(error)

    def insist(self, call, **request):
        """Until there is an answer, be it good or bad. None if the load is over first."""
        while True:
            try:
                return call(**request)
            except ClientError as error:
                return error.response
            except BotoCoreError:
                if self.over.wait(0.02):
                    return None

    def start(self, sfn, number):
        """Every third start is not repeated when there is no answer."""
        for count in itertools.count():
            if self.over.is_set():
                return
            name, n = f"s{number}-{count}", 1000 * number + count
            request = {"stateMachineArn": self.order, "name": name, "input": json.dumps({"n": n})}
            if count % 3 == 0:
                try:
                    self.hear(name, n, self.once.start_execution(**request))
                except BotoCoreError:
                    self.unanswered[name] = n
            elif answer := self.insist(sfn.start_execution, **request):
                self.hear(name, n, answer)
            else:
                self.unanswered[name] = n

    @property
    def once(self):
        """A client that tries once: made where it is needed, for a connection that is kept may be a dead one."""
        return self.server.client(timeout=2)

    def hear(self, name, n, answer):
        """A start that is repeated may find that the first one did, and is over."""
        code = answer.get("Error", {}).get("Code")
        if code not in {None, "ExecutionAlreadyExists"}:
            raise AssertionError(answer)
        self.told[name] = n

    def work(self, sfn):
        while not self.over.is_set():
            taken = self.insist(sfn.get_activity_task, activityArn=self.activity, workerName="w")
            if not taken or not taken.get("taskToken"):
                continue
            output = str(2 * json.loads(taken["input"])["n"])
            said = self.insist(sfn.send_task_success, taskToken=taken["taskToken"], output=output)
            code = (said or {}).get("Error", {}).get("Code")
            assert code in {None, "TaskTimedOut"}, said

    def stop(self, sfn):
        for count in itertools.count():
            if self.over.is_set():
                return
            started = self.insist(sfn.start_execution, stateMachineArn=self.wait, name=f"w-{count}")
            if not started:
                return
            answer = self.insist(sfn.stop_execution, executionArn=started["executionArn"], error="Stopped")
            if answer and "stopDate" in answer:
                self.stopped.add(started["executionArn"])


@pytest.fixture
def mortal(tmp_path):
    server = Server(tmp_path / "store")
    yield server
    server.stop()


def test_killed_under_load(mortal):
    load = Load(mortal)
    [thread.start() for thread in load.threads]
    try:
        for _ in range(KILLS):
            load.goes_on()
            mortal.kill()
            mortal.start()
        world = World(mortal, mortal.client())
        load.goes_on()
    finally:
        load.end()
    assert not load.problems, load.problems
    finish(load)
    check_orders(world, load)
    check_stops(world, load)


def finish(load):
    """New workers for what the first ones left behind."""
    load.over.clear()
    load.threads = [threading.Thread(target=load.guarded, args=(load.work,)) for _ in range(WORKERS)]
    [thread.start() for thread in load.threads]


def check_orders(world, load):
    execution = load.order.replace(":stateMachine:", ":execution:") + ":"
    try:
        listed = world.sfn.get_paginator("list_executions").paginate(stateMachineArn=load.order)
        names = [row["name"] for page in listed for row in page["executions"]]
        assert len(names) == len(set(names))
        assert set(load.told) <= set(names) <= set(load.told) | set(load.unanswered)
        for name in names:
            n = load.told.get(name, load.unanswered.get(name))
            check_order(world, execution + name, n)
        for name in set(load.unanswered) - set(names):
            with pytest.raises(world.sfn.exceptions.ExecutionDoesNotExist):
                world.sfn.describe_execution(executionArn=execution + name)
    finally:
        load.end()
    assert not load.problems, load.problems
    found = len(set(names) & set(load.unanswered))
    print(f"{len(load.told)} told, {len(load.unanswered)} unanswered, of which {found} are there")


def check_order(world, execution, n):
    ended = world.ended(execution)
    assert (ended["status"], json.loads(ended["input"])) == ("SUCCEEDED", {"n": n}), ended
    assert json.loads(ended["output"]) == {"n": n, "doubled": 2 * n}
    events = world.history(execution)
    assert [event["id"] for event in events] == list(range(1, len(events) + 1))
    assert all(0 <= event["previousEventId"] < event["id"] for event in events)
    types = collections.Counter(event["type"] for event in events)
    assert (events[0]["type"], events[-1]["type"]) == ("ExecutionStarted", "ExecutionSucceeded")
    for once in ["ActivityScheduled", "ActivityStarted", "TaskStateEntered", "TaskStateExited", "WaitStateEntered", "WaitStateExited", "ActivitySucceeded"]:
        assert types[once] == 1, types
    assert types["PassStateEntered"] == types["PassStateExited"] == 2, types


def check_stops(world, load):
    assert load.stopped
    for execution in load.stopped:
        ended = world.sfn.describe_execution(executionArn=execution)
        assert (ended["status"], ended["error"]) == ("ABORTED", "Stopped"), ended
        assert world.types(execution) == ["ExecutionStarted", "WaitStateEntered", "ExecutionAborted"]
