"""Requests that are wrong in every way a seeded generator can think of.

Each is (target, content type, body, the error codes it may be answered with); no codes at all mean that any
refusal will do, and success as well: the request may happen to be right.
"""

import json

from everstep import ACCOUNT, REGION, ROLE
from model import OPERATIONS, input_shape

JSON = "application/x-amz-json-1.0"
SERIALIZATION = {"SerializationException"}
VALIDATION = {"ValidationException"}
UNKNOWN = {"UnknownOperationException"}

WRONG = {
    "string": [5, 1.5, True, [], {}, ["x"]],
    "integer": ["x", True, [], {}, 1.5, 1e300, 2**40],
    "long": ["x", False, [], {}],
    "float": ["x", True, [], {}],
    "boolean": ["true", 1, [], {}],
    "timestamp": ["yesterday", True, [], {}],
    "list": ["x", 5, {}, True],
    "structure": ["x", 5, [], False],
    "map": ["x", 5, [], False],
}
LITERALS = [
    "",
    "{",
    "}",
    "[",
    "nul",
    "NaN",
    "{'a':1}",
    '{"a":1,}',
    '{"a"}',
    "{}{}",
    "\0",
    "{" * 50,
    "<xml/>",
    '{"a":01}',
]
TEXTS = [
    "",
    "\0",
    "\u202e\U0001f4a5",
    "../../etc/passwd",
    "%s%n%x",
    "' OR 1=1 --",
    "$(reboot)",
    "a" * 100_000,
    "é" * 90,
    "[" * 100_000,
    '{"a":' * 50_000,
    '"\\ud800"',
    "1e999999999",
    "-" * 1000,
    '{"StartAt":"A","States":{"A":{"Type":"Pass","End":true,"Parameters":' + "[" * 5000 + "]" * 5000 + "}}}",
    '{"StartAt":"A","States":{"A":{"Type":"Pass","Result":1e400,"End":true}}}',
    '{"StartAt":"A","QueryLanguage":"JSONata","States":{"A":{"Type":"Succeed","Output":"{% ' + "(" * 20_000 + ' %}"}}}',
    '{"Type":"Pass","Parameters":{"a.$":"' + "States.Array(" * 3000 + '"},"End":true}',
    '{"Type":"Pass","QueryLanguage":"JSONata","Output":"{% ($f := function(){ $f() }; $f()) %}","End":true}',
    '{"Type":"Pass","QueryLanguage":"JSONata","Output":"{% [1..1e9] %}","End":true}',
]
ARNS = [
    "arn",
    "arn:",
    ":" * 200,
    "arn:aws:states:::",
    f"arn:aws:states:{REGION}:{ACCOUNT}:stateMachine:",
    f"arn:aws:states:{REGION}:{ACCOUNT}:stateMachine:a:b:c:d",
    f"arn:aws:states:{REGION}:{ACCOUNT}:stateMachine:m/l:1",
    f"arn:aws:states:{REGION}:{ACCOUNT}:stateMachine:m:99999999999999999999",
    f"arn:aws:states:{REGION}:{ACCOUNT}:execution:m:e",
    f"arn:aws:states:{REGION}:{ACCOUNT}:express:m:e:r",
    f"arn:aws:states:{REGION}:{ACCOUNT}:activity:a\0",
    f"arn:aws:states:{REGION}:{ACCOUNT}:mapRun:m/l:r",
    f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:f",
    "arn:aws:states:\u00e9:\u00e9:activity:\u00e9",
]


def plausible(shape, name=""):
    """A value that its shape allows, for whatever it names is not there."""
    kind = shape.type_name
    if kind == "structure":
        return {name: plausible(shape.members[name], name) for name in shape.required_members}
    if kind == "list":
        return [plausible(shape.member)]
    if kind == "string":
        arn = f"arn:aws:states:{REGION}:{ACCOUNT}:stateMachine:none:1"
        return shape.enum[0] if shape.enum else ROLE if name == "roleArn" else arn if name.endswith("Arn") else "text"
    return {"boolean": True, "map": {}}.get(kind, 1)


def places(shape, path=()):
    """The path of every member at any depth, with its shape."""
    if shape.type_name == "structure":
        for name, member in shape.members.items():
            yield (*path, name), member
            yield from places(member, (*path, name))
    elif shape.type_name == "list":
        yield (*path, 0), shape.member
        yield from places(shape.member, (*path, 0))


def put(body, shape, path, value):
    """Puts a value at a path, with all that must be there around it."""
    for step in path[:-1]:
        shape = shape.members[step] if shape.type_name == "structure" else shape.member
        if isinstance(body, list):
            body = body[0]
            continue
        if not body.get(step):
            body[step] = plausible(shape, step)
        body = body[step]
    body[path[-1]] = value


PLACES = [(operation, place) for operation in OPERATIONS for place in places(input_shape(operation))]
REQUIRED = [(operation, name) for operation in OPERATIONS for name in input_shape(operation).required_members]


def target(operation):
    return f"AWSStepFunctions.{operation}"


def with_member(operation, path, value):
    shape = input_shape(operation)
    body = plausible(shape)
    put(body, shape, path, value)
    return body


def wrong_type(random):
    operation, (path, shape) = random.choice(PLACES)
    body = with_member(operation, path, random.choice(WRONG[shape.type_name]))
    return target(operation), JSON, json.dumps(body), SERIALIZATION


def missing_member(random):
    operation, name = random.choice(REQUIRED)
    body = plausible(input_shape(operation))
    if random.random() < 0.5:
        del body[name]
    else:
        body[name] = None
    return target(operation), JSON, json.dumps(body), VALIDATION


def out_of_bounds(random):
    bounded = [
        (operation, path, shape)
        for operation, (path, shape) in PLACES
        if shape.metadata.get("max") or (shape.type_name == "string" and shape.enum)
    ]
    operation, path, shape = random.choice(bounded)
    most = shape.metadata.get("max", 0)
    if shape.type_name == "string":
        value = "NEITHER" if shape.enum else "x" * (most + random.choice([1, 2, 1000]))
    elif shape.type_name == "list":
        value = [plausible(shape.member)] * (most + 1)
    else:
        value = most + 1
    return target(operation), JSON, json.dumps(with_member(operation, path, value)), VALIDATION


def hostile_text(random):
    operation, (path, shape) = random.choice([place for place in PLACES if place[1][1].type_name == "string"])
    text = random.choice(ARNS if str(path[-1]).endswith("Arn") and random.random() < 0.8 else TEXTS)
    return target(operation), JSON, json.dumps(with_member(operation, path, text)), set()


def unknown_target(random):
    wrong = random.choice(["", "Fly", "AWSStepFunctions.", "AWSStepFunctions.Fly", "AWSStepFunctions.startExecution"])
    return (
        random.choice([wrong, "DynamoDB_20120810.ListTables", "x" * 5000, "AWSStepFunctions.\t"]),
        JSON,
        "{}",
        UNKNOWN,
    )


def unknown_content_type(random):
    kinds = [
        "",
        "text/plain",
        "application/json",
        "application/x-amz-json-9.9",
        "a" * 5000,
        "multipart/form-data; boundary=x",
    ]
    return target("ListStateMachines"), random.choice(kinds), "{}", UNKNOWN


def no_json(random):
    return target(random.choice(OPERATIONS)), JSON, random.choice(LITERALS), SERIALIZATION


def no_object(random):
    body = random.choice(["null", "[]", "1", '"text"', "true", "[{}]", "1.5"])
    return target(random.choice(OPERATIONS)), JSON, body, SERIALIZATION


def mutated(random):
    """A good request with a few of its bytes changed, doubled or left out."""
    operation = random.choice(OPERATIONS)
    body = bytearray(json.dumps(plausible(input_shape(operation))).encode())
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(body)) if body else 0
        what = random.randrange(3)
        if what == 0:
            body[at : at + 1] = bytes([random.randrange(256)])
        elif what == 1:
            del body[at : at + random.randint(1, 9)]
        else:
            body[at:at] = body[at : at + random.randint(1, 9)]
    return target(operation), JSON, bytes(body), set()


def no_utf8(random):
    bad = random.choice([b"\xff", b"\xc3\x28", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80", b"\xc0\xaf"])
    return target("CreateActivity"), JSON, b'{"name":"' + bad + b'"}', SERIALIZATION


def lone_surrogate(random):
    text = random.choice(["\\ud800", "\\udfff", "\\ud83d x", "\\ud800\\ud800"])
    return target("CreateActivity"), JSON, f'{{"name":"{text}"}}', SERIALIZATION


def deep(random):
    depth = random.choice([200, 5000, 100_000])
    opening, closing = random.choice([("[", "]"), ('{"a":', "}")])
    body = '{"name":' + opening * depth + "1" + closing * depth + "}"
    return target("CreateActivity"), JSON, body if random.random() < 0.5 else body[: depth + 8], SERIALIZATION


KINDS = {
    wrong_type: 40,
    missing_member: 10,
    out_of_bounds: 10,
    hostile_text: 12,
    unknown_target: 4,
    unknown_content_type: 4,
    no_json: 5,
    no_object: 3,
    mutated: 8,
    no_utf8: 2,
    lone_surrogate: 1,
    deep: 1,
}


def requests(random, count):
    kinds, weights = list(KINDS), list(KINDS.values())
    for kind in random.choices(kinds, weights, k=count):
        yield kind.__name__, *kind(random)
