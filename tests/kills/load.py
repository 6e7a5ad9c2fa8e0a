"""One load with all that is durable: what clients are told is written down, to be compared with what came of it.

No timeout is short. What a crash strands is not rescued by one: it is still there at the end.
"""

import itertools
import json
import pathlib
import threading

from botocore.exceptions import BotoCoreError, ClientError

from everstep import arn
from house import NOT_OVER, fixed

HANDLERS = str(pathlib.Path(__file__).parent / "handlers")
HOUR = 3600
RETRIES = 3
# What is under way at the same time, so that the last restart leaves a bounded rest.
EXECUTIONS_MAX = 6
INVOCATIONS_MAX = 6
WORKERS = 2


def function(name):
    return f"arn:aws:lambda:us-east-1:123456789012:function:{name}"


def call(name, **fields):
    return {"Type": "Task", "Resource": function(name), "TimeoutSeconds": HOUR} | fields


def processor(mode, states):
    return {"ProcessorConfig": mode, "StartAt": next(iter(states)), "States": states}


INLINE = {"Mode": "INLINE"}
DISTRIBUTED = {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}
# A function may fail where its machine does.
RETRY = [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 1, "MaxAttempts": 20, "BackoffRate": 1}]
KEEP = {"ResultPath": None}
ORDER = {
    "StartAt": "Call",
    "States": {
        "Call": call("work", Retry=RETRY, Next="Activity", **KEEP),
        "Activity": {
            "Type": "Task",
            "Resource": arn("activity:double"),
            "TimeoutSeconds": HOUR,
            "ResultPath": "$.doubled",
            "Next": "Callback",
        },
        "Callback": {
            "Type": "Task",
            "Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken",
            "Parameters": {"FunctionName": "hand", "Payload": {"token.$": "$$.Task.Token", "n.$": "$.n"}},
            "TimeoutSeconds": HOUR,
            "ResultPath": "$.called",
            "Next": "Inline",
        },
        "Inline": {
            "Type": "Map",
            "ItemsPath": "$.items",
            "ItemProcessor": processor(INLINE, {"Each": call("work", Retry=RETRY, End=True)}),
            "ResultPath": "$.inline",
            "Next": "Distributed",
        },
        "Distributed": {
            "Type": "Map",
            "Label": "each",
            "ItemsPath": "$.items",
            "ItemProcessor": processor(
                DISTRIBUTED,
                {
                    "Rest": {"Type": "Wait", "Seconds": 1, "Next": "Child"},
                    "Child": {"Type": "Pass", "End": True},
                },
            ),
            "ResultPath": "$.distributed",
            "Next": "Nested",
        },
        "Nested": {
            "Type": "Task",
            "Resource": "arn:aws:states:::states:startExecution.sync:2",
            "Parameters": {"StateMachineArn": arn("stateMachine:nested"), "Input": {"n.$": "$.n"}},
            "ResultSelector": {"output.$": "$.Output"},
            "TimeoutSeconds": HOUR,
            "ResultPath": "$.nested",
            "End": True,
        },
    },
}
NESTED = {
    "StartAt": "Wait",
    "States": {"Wait": {"Type": "Wait", "Seconds": 1, "Next": "Done"}, "Done": {"Type": "Pass", "End": True}},
}
FAIL = {"StartAt": "Fail", "States": {"Fail": {"Type": "Fail", "Error": "Broken", "Cause": "as planned"}}}
ITEMS = [{"item": number} for number in range(3)]


def machines():
    return {
        "order": {"definition": json.dumps(ORDER)},
        "nested": {"definition": json.dumps(NESTED)},
        "fail": {"definition": json.dumps(FAIL), "onFailure": "function:tell"},
    }


def functions(records):
    patient = {"handler": "witness.handler", "codeUri": HANDLERS, "timeout": "1h", "concurrency": 4}
    return {
        # Of a task: ends well at once.
        "work": patient,
        "hand": patient,
        # Of an asynchronous invocation: without a retry, with one that helps, with none that does.
        "once": patient | {"plan": "ok"},
        "again": patient | {"plan": "Broken,ok", "retry": fixed(RETRIES), "onSuccess": "function:tell"},
        "doomed": patient | {"plan": "Broken", "retry": fixed(RETRIES), "onFailure": f"file:{records}"},
        "tell": patient | {"retry": fixed(RETRIES)},
    }


def expected(n):
    """What an order returns."""
    nested = {"output": {"n": n}}
    return {"n": n, "items": ITEMS, "doubled": 2 * n, "called": n, "inline": ITEMS, "distributed": ITEMS, "nested": nested}


class Load:
    """Clients that do not mind when their server goes away."""

    def __init__(self, house):
        self.house = house
        self.server = house.server
        self.over, self.starts_over = threading.Event(), threading.Event()
        # By name and key: what clients were told of.
        self.orders, self.failures, self.invocations = {}, {}, {}
        self.problems = []
        self.server.client().create_activity(name="double")
        jobs = [self.start_orders, self.start_failures, self.invoke, self.call_back] + [self.work] * WORKERS
        self.threads = [threading.Thread(target=self.guarded, args=(job,)) for job in jobs]

    def start(self):
        [thread.start() for thread in self.threads]

    def end(self):
        self.over.set()
        self.starts_over.set()
        [thread.join() for thread in self.threads]

    def guarded(self, job):
        try:
            job(self.server.client(timeout=5))
        except Exception as error:
            self.problems.append(f"{job.__name__}: {error!r}")

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

    def begin(self, sfn, machine, name, given):
        """Whether a client was told that the execution is there."""
        target = arn(f"stateMachine:{machine}")
        answer = self.insist(sfn.start_execution, stateMachineArn=target, name=name, input=json.dumps(given)) or {}
        code = answer.get("Error", {}).get("Code")
        assert code in {None, "ExecutionAlreadyExists"}, answer
        return bool(answer)

    def running(self, sfn):
        listed = self.insist(sfn.list_executions, stateMachineArn=arn("stateMachine:order"), statusFilter="RUNNING")
        return len((listed or {}).get("executions", []))

    def start_orders(self, sfn):
        for n in itertools.count():
            while self.running(sfn) >= EXECUTIONS_MAX:
                if self.starts_over.wait(0.05):
                    return
            if self.starts_over.is_set():
                return
            if self.begin(sfn, "order", f"o-{n}", {"n": n, "items": ITEMS}):
                self.orders[f"o-{n}"] = n

    def start_failures(self, sfn):
        for n in itertools.count():
            if self.starts_over.wait(0.2):
                return
            if self.begin(sfn, "fail", f"f-{n}", {"n": n}):
                self.failures[f"f-{n}"] = n

    def invoke(self, _):
        """One after the other of the three functions, some at a time."""
        for n in itertools.count():
            name = ("once", "again", "doomed")[n % 3]
            key = f"{name}-{n}"
            self.invocations[key] = self.house.insist(self.house.accept, name, {"n": n}, key)
            while len(self.going()) >= INVOCATIONS_MAX:
                if self.starts_over.wait(0.05):
                    return
            if self.starts_over.wait(0.02):
                return

    def going(self):
        """Invocations that clients have made and that are not over."""
        listed = self.house.insist(lambda: {"found": self.house.listed()})["found"]
        return [one for one in listed if one["state"] in NOT_OVER and one.get("dedupeKey") in self.invocations]

    def work(self, sfn):
        while not self.over.is_set():
            taken = self.insist(sfn.get_activity_task, activityArn=arn("activity:double"), workerName="w")
            if taken and taken.get("taskToken"):
                output = str(2 * json.loads(taken["input"])["n"])
                self.answer(sfn, taken["taskToken"], output)

    def call_back(self, sfn):
        """Answers each token that a function was given, once more for each time it was."""
        answered = 0
        while not self.over.wait(0.02):
            lines = self.house.lines("hand")
            for line in lines[answered:]:
                self.answer(sfn, line["event"]["token"], str(line["event"]["n"]))
            answered = len(lines)

    def answer(self, sfn, token, output):
        """The first answer counts; another one is refused by name."""
        said = self.insist(sfn.send_task_success, taskToken=token, output=output)
        code = (said or {}).get("Error", {}).get("Code")
        assert code in {None, "TaskTimedOut", "InvalidToken", "TaskDoesNotExist"}, said
