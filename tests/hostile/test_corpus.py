"""Every case is legal: the service accepts it, and its input fits."""

import json
import os
import subprocess

import pytest

from corpus import EITHER, ITSELF, NEVER, cases

CASES = cases()
PAYLOAD_BYTES_MAX = 262_144


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_case_is_legal(case):
    command = [os.environ["EVERSTEP"], "validate", "--format", "aws", "-"]
    for definition in (case.definition_text, case.as_children(5)):
        checked = subprocess.run(command, input=definition, capture_output=True, text=True)
        assert json.loads(checked.stdout)["result"] == "OK", checked.stdout
    assert len(case.input_text) <= PAYLOAD_BYTES_MAX
    assert case.attacks.endswith(".")
    assert case.ends in {EITHER, ITSELF, NEVER, "SUCCEEDED"} or case.ends.startswith("FAILED ")
