"""State machines that the tests run."""

import json


def text(states, start=None, **top):
    """A definition whose first state is where it begins."""
    return json.dumps({"StartAt": start or next(iter(states)), "States": states} | top)


def passing(result=None, **fields):
    state = {"Type": "Pass", "End": True} | fields
    return text({"Only": state if result is None else state | {"Result": result}})


def waiting(seconds=3600):
    return text({"Wait": {"Type": "Wait", "Seconds": seconds, "End": True}})


def failing(error="Broken", cause="by design"):
    return text({"Fail": {"Type": "Fail", "Error": error, "Cause": cause}})


def task(resource, parameters=None, **fields):
    state = {"Type": "Task", "Resource": resource, "End": True} | fields
    return text({"Work": state if parameters is None else state | {"Parameters": parameters}})


def distributed(state, express=False, **fields):
    """A Map over the input whose children are executions of one state."""
    processor = {
        "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "EXPRESS" if express else "STANDARD"},
        "StartAt": "Each",
        "States": {"Each": state | {"End": True}},
    }
    return text({"Map": {"Type": "Map", "Label": "each", "ItemProcessor": processor, "End": True} | fields})


PASS = passing()
WAIT = waiting()
FAIL = failing()
