"""What all tests share: one server, and a world of short words for what they do to it."""

import json
import pathlib
import uuid

import pytest

from definitions import PASS, WAIT, task
from everstep import ROLE, Server, until


FUNCTIONS = pathlib.Path(__file__).parent / "functions"


class World:
    """A server, a client, and things made for one test."""

    def __init__(self, server, sfn):
        self.server = server
        self.sfn = sfn

    def name(self):
        return f"t-{uuid.uuid4()}"

    def machine(self, definition=PASS, **options):
        options = {"name": self.name(), "definition": definition, "roleArn": ROLE} | options
        return self.sfn.create_state_machine(**options)["stateMachineArn"]

    def express(self, definition=PASS, **options):
        return self.machine(definition, type="EXPRESS", **options)

    def publish(self, machine, **options):
        published = self.sfn.publish_state_machine_version(stateMachineArn=machine, **options)
        return published["stateMachineVersionArn"]

    def alias(self, *routes, name="live", **options):
        """Each route is a version and its weight."""
        routes = [{"stateMachineVersionArn": version, "weight": weight} for version, weight in routes]
        made = self.sfn.create_state_machine_alias(name=name, routingConfiguration=routes, **options)
        return made["stateMachineAliasArn"]

    def activity(self, **options):
        return self.sfn.create_activity(**({"name": self.name()} | options))["activityArn"]

    def start(self, machine, given=None, **options):
        given = {} if given is None else {"input": json.dumps(given)}
        return self.sfn.start_execution(stateMachineArn=machine, **given, **options)["executionArn"]

    def running(self, machine=None):
        """An execution that has a worker's task in its hands: its ARN and the task."""
        activity = self.activity()
        execution = self.start(machine or self.machine(task(activity)), {"n": 1})
        return execution, self.sfn.get_activity_task(activityArn=activity)

    def ended(self, execution):
        def found():
            described = self.sfn.describe_execution(executionArn=execution)
            return described if described["status"] != "RUNNING" else None

        return until(found, f"the end of {execution}")

    def run(self, definition, given=None, **options):
        return self.ended(self.start(self.machine(definition, **options), given))

    def output(self, definition, given=None):
        """What an execution that must succeed returns."""
        ended = self.run(definition, given)
        assert ended["status"] == "SUCCEEDED", ended
        return json.loads(ended["output"])

    def history(self, execution, **options):
        pages = self.sfn.get_paginator("get_execution_history").paginate(executionArn=execution, **options)
        return [event for page in pages for event in page["events"]]

    def types(self, execution):
        return [event["type"] for event in self.history(execution)]

    def deleting(self):
        """A machine that is being deleted, and the execution it waits for."""
        machine = self.machine(WAIT)
        execution = self.start(machine)
        self.sfn.delete_state_machine(stateMachineArn=machine)
        return machine, execution


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("data") / "store")
    yield server
    server.stop()


@pytest.fixture(scope="session")
def sfn(server):
    return server.client()


@pytest.fixture(scope="session")
def functions(tmp_path_factory):
    """A server with the functions of the folder beside."""
    server = Server(tmp_path_factory.mktemp("functions") / "store", {"EVERSTEP_FUNCTIONS": str(FUNCTIONS)})
    yield server
    server.stop()


@pytest.fixture
def world(server, sfn):
    return World(server, sfn)
