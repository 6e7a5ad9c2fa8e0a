"""How much longer a Pass execution takes beside executions that compute without end."""

import uuid

from corpus import FOLDER, read
from everstep import ROLE
from observed import KINDS, Observed

HOSTILE = 8
CASE = "time-slow-pass-for-ever"
SAMPLES = 300
RATIO_MAX = 10


def test_innocent_executions_beside_hostile_ones(tmp_path, measured):
    server = Observed(tmp_path / "store")
    try:
        alone = server.measured(SAMPLES)
        start_hostile(server)
        beside = server.measured(SAMPLES)
    finally:
        server.close()
    ratios = {kind: beside[kind].p99 / alone[kind].p99 for kind in KINDS}
    for kind in KINDS:
        measured.append(f"{kind:8} alone: {alone[kind]}; beside {HOSTILE} hostile: {beside[kind]}; p99 × {ratios[kind]:.1f}")
    assert ratios["standard"] <= RATIO_MAX, ratios


def start_hostile(server):
    case = read(FOLDER / f"{CASE}.json")
    client = server.client()
    given = {"name": f"h-{uuid.uuid4()}", "roleArn": ROLE, "definition": case.definition_text}
    machine = client.create_state_machine(**given)["stateMachineArn"]
    for _ in range(HOSTILE):
        client.start_execution(stateMachineArn=machine, input=case.input_text)
