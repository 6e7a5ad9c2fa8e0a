"""The service as botocore describes it."""

import botocore.session

MODEL = botocore.session.get_session().get_service_model("stepfunctions")
OPERATIONS = sorted(MODEL.operation_names)


def errors(operation):
    return [shape.name for shape in MODEL.operation_model(operation).error_shapes]


def input_shape(operation):
    return MODEL.operation_model(operation).input_shape


def missing_members(operation, answer):
    """The required members that an answer lacks, and those the model does not know, at any depth."""
    shape = MODEL.operation_model(operation).output_shape
    known = {k: v for k, v in answer.items() if k != "ResponseMetadata"}
    return list(differences(shape, known, operation))


def differences(shape, value, place):
    if shape.type_name == "structure":
        for name in shape.required_members:
            if name not in value:
                yield f"{place}.{name} is missing"
        for name, part in value.items():
            yield from differences(shape.members[name], part, f"{place}.{name}")
    elif shape.type_name == "list":
        for index, part in enumerate(value):
            yield from differences(shape.member, part, f"{place}[{index}]")
