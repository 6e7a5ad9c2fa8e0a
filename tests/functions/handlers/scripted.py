"""A Lambda handler that does what it is told, and leaves a line for each call before it does anything.

The plan has an entry for each attempt, and the last one counts for all that follow: `Broken,Broken,ok` fails
twice. An entry is `ok` (the event, or its `output`), `null`, `exit`, `kill`, `kill-engine`, or the name of an error; `sleep=0.5+Broken` takes its time first, `gate=open+ok`
waits for a file of that name beside the lines. While it waits, it sends what is in a file `answer` there to the Runtime API, as another thread
of a function might, and leaves the status in `answered`.
"""

import http.client
import json
import os
import pathlib
import signal
import subprocess
import time


def handler(event, context):
    told = context.client_context.custom
    witness(event, context, told)
    wait, _, action = plan(event, int(told["everstep.attempt"])).rpartition("+")
    if wait:
        pause(context.aws_request_id, *wait.split("="))
    if action == "null":
        return None
    act(action)
    return event.get("output", event) if isinstance(event, dict) else event


def pause(id, kind, value):
    if kind == "sleep":
        return time.sleep(float(value))
    folder = pathlib.Path(os.environ["WITNESS"]).parent
    while not (folder / value).exists():
        if (folder / "answer").exists():
            send(id, folder)
        time.sleep(0.005)


def send(id, folder):
    connection = http.client.HTTPConnection(os.environ["AWS_LAMBDA_RUNTIME_API"])
    connection.request("POST", f"/2018-06-01/runtime/invocation/{id}/response", (folder / "answer").read_bytes())
    (folder / "answer").unlink()
    (folder / "status").write_text(str(connection.getresponse().status))
    (folder / "status").rename(folder / "answered")
    connection.close()


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
        case "kill-engine":
            os.kill(os.getppid(), signal.SIGKILL)
            time.sleep(1000)
        case "child":
            # Outlives the handler, in a process group of its own.
            subprocess.Popen(["sleep", "1000"], process_group=0)
            time.sleep(1000)
        case name:
            raise type(name, (Exception,), {})("as planned")
