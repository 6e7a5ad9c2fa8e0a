"""The `aws` command line: what it prints, and how it ends when something is refused."""

import json
import os
import subprocess
import threading

import pytest

from definitions import PASS, WAIT, passing, task
from documentation import session
from everstep import REGION, ROLE, arn

PROGRAM = os.environ.get("EVERSTEP_AWS_CLI", "aws")


@pytest.fixture(scope="module")
def aws(server):
    environment = os.environ | {
        "AWS_ACCESS_KEY_ID": "any",
        "AWS_SECRET_ACCESS_KEY": "any",
        "AWS_DEFAULT_REGION": REGION,
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_MAX_ATTEMPTS": "1",
        "AWS_PAGER": "",
    }

    def run(operation, check=True, variables=None, **options):
        command = [PROGRAM, "stepfunctions", operation, "--endpoint-url", server.url, "--output", "json"]
        for name, value in options.items():
            command += [f"--{name.replace('_', '-')}", str(value)]
        done = subprocess.run(command, env=environment | (variables or {}), capture_output=True, text=True)
        if not check:
            return done
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout or "{}")

    return run


def refused():
    """The exit code for what a service refuses, which differs between the versions of the command line."""
    version = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True)
    return 255 if (version.stdout + version.stderr).startswith("aws-cli/1.") else 254


def made(aws, world, definition=PASS, **options):
    found = aws("create-state-machine", name=world.name(), definition=definition, role_arn=ROLE, **options)
    return found["stateMachineArn"]


def test_create_start_describe_history_list(aws, world):
    machine = made(aws, world, passing({"a": 1}))
    started = aws("start-execution", state_machine_arn=machine, name="one", input='{"n":1}')
    assert started["executionArn"] == machine.replace(":stateMachine:", ":execution:") + ":one"
    world.ended(started["executionArn"])
    found = aws("describe-execution", execution_arn=started["executionArn"])
    assert (found["status"], json.loads(found["output"])) == ("SUCCEEDED", {"a": 1})
    history = aws("get-execution-history", execution_arn=started["executionArn"], page_size=2)
    assert [event["type"] for event in history["events"]] == [
        "ExecutionStarted",
        "PassStateEntered",
        "PassStateExited",
        "ExecutionSucceeded",
    ]
    listed = aws("list-executions", state_machine_arn=machine)
    assert [row["name"] for row in listed["executions"]] == ["one"]
    machines = aws("list-state-machines", page_size=2)
    assert machine in {row["stateMachineArn"] for row in machines["stateMachines"]}
    world.machine()
    first = aws("list-state-machines", max_items=1)
    assert len(first["stateMachines"]) == 1 and first["NextToken"]


def test_stop(aws, world):
    execution = aws("start-execution", state_machine_arn=made(aws, world, WAIT))["executionArn"]
    assert aws("stop-execution", execution_arn=execution, error="Enough")["stopDate"]
    found = aws("describe-execution", execution_arn=execution)
    assert (found["status"], found["error"]) == ("ABORTED", "Enough")


def test_an_activity_worker(aws, world):
    activity = aws("create-activity", name=world.name())["activityArn"]
    machine = made(aws, world, task(activity))
    taken = []
    worker = threading.Thread(target=lambda: taken.append(aws("get-activity-task", activity_arn=activity)))
    worker.start()
    execution = aws("start-execution", state_machine_arn=machine, input='{"n":1}')["executionArn"]
    worker.join()
    token = taken[0]["taskToken"]
    aws("send-task-heartbeat", task_token=token)
    aws("send-task-success", task_token=token, task_output='{"n":2}')
    assert json.loads(world.ended(execution)["output"]) == {"n": 2}


def test_what_is_refused(aws, world):
    nowhere = arn("stateMachine:nowhere")
    done = aws("describe-state-machine", check=False, state_machine_arn=nowhere)
    assert done.returncode == refused()
    assert "An error occurred (StateMachineDoesNotExist) when calling the DescribeStateMachine operation" in done.stderr
    assert f"State Machine Does Not Exist: '{nowhere}'" in done.stderr
    done = aws("create-state-machine", check=False, name="wrong", definition="{}", role_arn=ROLE)
    assert "(InvalidDefinition)" in done.stderr


def test_a_synchronous_execution(aws, world):
    """The command line puts `sync-` before the host by default; with the server as its proxy
    it need not find that host."""
    machine = made(aws, world, passing({"fast": True}), type="EXPRESS")
    proxy = {"HTTP_PROXY": world.server.url, "NO_PROXY": ""}
    done = aws("start-sync-execution", variables=proxy, state_machine_arn=machine)
    assert (done["status"], json.loads(done["output"])) == ("SUCCEEDED", {"fast": True})


@pytest.mark.parametrize("older", [False, True])
def test_the_example_of_the_documentation(server, older):
    commands, printed = session("The command line", server)
    version = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True).stdout
    if older or version.startswith("aws-cli/2.9."):
        # As the page says for versions that do not know the variable.
        commands = commands.replace("AWS_DISABLE_HOST_PREFIX_INJECTION=true", f"HTTP_PROXY={server.url}")
        commands = commands.replace("hello-cli", "hello-older")
    found = os.path.dirname(PROGRAM)
    path = f"{found}:{os.environ['PATH']}" if found else os.environ["PATH"]
    quiet = {"PATH": path, "AWS_PAGER": "", "NO_PROXY": ""}
    done = subprocess.run(["bash", "-ec", commands], env=os.environ | quiet, capture_output=True, text=True)
    assert done.stdout.endswith(printed + "\n"), done.stderr


def aws_lambda(server, operation, *arguments):
    command = [PROGRAM, "lambda", operation, "--endpoint-url", server.url, "--output", "json", *arguments]
    variables = {"AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any", "AWS_DEFAULT_REGION": REGION}
    variables |= {"AWS_CONFIG_FILE": os.devnull, "AWS_MAX_ATTEMPTS": "1", "AWS_PAGER": ""}
    return subprocess.run(command, env=os.environ | variables, capture_output=True, text=True)


def test_lambda_looks(functions):
    listed = json.loads(aws_lambda(functions, "list-functions").stdout)
    assert "greet" in [found["FunctionName"] for found in listed["Functions"]]
    found = json.loads(aws_lambda(functions, "get-function", "--function-name", "greet").stdout)
    assert found["Configuration"]["Handler"] == "app.greet"
    refused = aws_lambda(functions, "delete-function", "--function-name", "greet")
    assert refused.returncode != 0 and "DeleteFunction is not supported" in refused.stderr


def test_lambda_invoke(functions, tmp_path):
    """The function's answer goes to a file, the rest to standard output."""

    def invoke(name, payload):
        out = tmp_path / "out.json"
        done = aws_lambda(
            functions, "invoke", "--function-name", name, "--payload", f"file://{payload}", str(out)
        )
        return done, out

    # Version 1 sends the file as it is, version 2 takes it for base64 unless it is binary: `fileb`.
    event = tmp_path / "event.json"
    event.write_text('{"n": 1}')
    done, out = invoke("greet", event)
    if "Invalid base64" in done.stderr:
        event.write_text("eyJuIjogMX0=")
        done, out = invoke("greet", event)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"StatusCode": 200, "ExecutedVersion": "$LATEST"}
    assert json.loads(out.read_text())["hello"] == {"n": 1}
    done, out = invoke("fails", event)
    assert json.loads(done.stdout)["FunctionError"] == "Unhandled"
    assert json.loads(out.read_text())["errorType"] == "NoFunds"
    done, _ = invoke("nobody", event)
    assert done.returncode != 0 and "ResourceNotFoundException" in done.stderr
