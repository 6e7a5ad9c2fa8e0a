"""A Lambda handler that does what it is told, and leaves a line for each call before it does anything.

The plan has an entry for each attempt, and the last one counts for all that follow: `Broken,Broken,ok` fails
twice. An entry is `ok` (the event, or its `output`), `null`, `exit`, `kill`, or the name of an error; `sleep=0.5+Broken` takes its time first, `gate=open+ok`
waits for a file of that name beside the lines.
"""

import json
import os
import signal
import subprocess
import time


def handler(event, context):
    told = context.client_context.custom
    witness(event, context, told)
    wait, _, action = plan(event, int(told["everstep.attempt"])).rpartition("+")
    if wait:
        pause(*wait.split("="))
    if action == "null":
        return None
    act(action)
    return event.get("output", event) if isinstance(event, dict) else event


def pause(kind, value):
    if kind == "sleep":
        return time.sleep(float(value))
    gate = os.path.join(os.path.dirname(os.environ["WITNESS"]), value)
    while not os.path.exists(gate):
        time.sleep(0.005)


def witness(event, context, told):
    line = {
        "function": context.function_name,
        "id": context.aws_request_id,
        "attempt": int(told["everstep.attempt"]),
        "pid": os.getpid(),
        "api": os.environ["AWS_LAMBDA_RUNTIME_API"],
        "deadline": int(time.time() * 1000) + context.get_remaining_time_in_millis(),
        "told": told,
        "event": event,
    }
    file = os.open(os.environ["WITNESS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(file, (json.dumps(line) + "\n").encode())
    os.close(file)


def plan(event, attempt):
    given = event.get("plan") if isinstance(event, dict) else None
    entries = (given or os.environ.get("PLAN", "ok")).split(",")
    return entries[min(attempt, len(entries)) - 1]


def act(action):
    match action:
        case "ok":
            return
        case "exit":
            os._exit(3)
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "child":
            # Outlives the handler, in a process group of its own.
            subprocess.Popen(["sleep", "1000"], process_group=0)
            time.sleep(1000)
        case name:
            raise type(name, (Exception,), {})("as planned")
