#!/usr/bin/env python3
"""Writes crates/shapes/src/shapes.bin: what the actions of AWS services return.

    pip install botocore==1.41.0
    python3 tools/shapes.py

The facts are those of botocore's service models (Apache-2.0, Copyright Amazon.com): names and
types of response fields, enumerations, bounds and required fields. No text of theirs is taken.
The version is that of the time when the answers of the service were recorded which the conformance
cases hold: bounds change (Lambda's memory has grown since), and the service follows with a delay.

The file is a line of JSON, `{service: [offset, length]}`, and behind it one zlib stream for each
service: the JSON `[{action: shape}, [shape, ...]]`. A shape is a number into the list, in which
every entry is `[kind, ...]`:

    ["o", {Field: shape, ...}, [required field, ...]]   a structure
    ["a", shape, min, max]                              a list
    ["m", shape]                                        a map, by the shape of its values
    ["s", min, max, [value, ...]]                       a string, or a time
    ["x", min, max]                                     bytes, in Base64
    ["n", min, max]                                     a number
    ["b"]                                               a boolean
    ["?"]                                               anything

Trailing nulls are left out. Fields are named as Step Functions names them: with a capital.
"""

import gzip
import json
import pathlib
import zlib

import botocore

# By botocore's names: the services of optimised integrations, then those that workflows call most.
SERVICES = """
    athena batch bedrock bedrock-runtime codebuild databrew dynamodb ecs eks emr emr-containers
    emr-serverless events glue lambda mediaconvert sagemaker sns sqs stepfunctions

    acm appconfig appconfigdata application-autoscaling autoscaling bedrock-agent
    bedrock-agent-runtime ce cloudformation cloudfront cloudtrail cloudwatch codecommit codedeploy
    codepipeline cognito-idp comprehend comprehendmedical config datasync dms ec2 ecr elasticache
    elb elbv2 firehose iam imagebuilder iot iot-data kendra kinesis kms
    location logs neptune opensearch organizations personalize
    pipes polly rds rds-data redshift redshift-data rekognition resource-groups
    resourcegroupstaggingapi route53 s3 s3control sagemaker-runtime scheduler schemas secretsmanager
    service-quotas servicecatalog servicediscovery ses sesv2 signer ssm sso-admin sts
    support textract timestream-query timestream-write transcribe transfer translate
    xray
""".split()

NUMBERS = {"integer", "long", "float", "double", "short", "byte", "bigdecimal", "biginteger"}


def latest(service):
    directory = pathlib.Path(botocore.__file__).parent / "data" / service
    path = max(directory.glob("*/service-2.json.gz"))
    with gzip.open(path) as file:
        return json.load(file)


def capital(name):
    return name[:1].upper() + name[1:]


def trimmed(entry):
    while entry and entry[-1] in (None, []):
        entry.pop()
    return entry


class Service:
    def __init__(self, model):
        self.model = model
        self.numbers = {}  # by the name of the shape, or by its entry
        self.entries = []

    def number(self, name):
        if name not in self.numbers:
            self.numbers[name] = self.add(name)
        return self.numbers[name]

    def add(self, name):
        shape = self.model["shapes"][name]
        kind = shape["type"]
        if kind in ("structure", "list", "map"):
            # A shape may hold itself: its number comes before its parts.
            number = self.numbers[name] = len(self.entries)
            self.entries.append(None)
            self.entries[number] = self.compound(shape, kind)
            return number
        entry = self.scalar(shape, kind)
        key = json.dumps(entry)
        if key not in self.numbers:
            self.numbers[key] = len(self.entries)
            self.entries.append(entry)
        return self.numbers[key]

    def compound(self, shape, kind):
        if shape.get("document") or shape.get("eventstream"):
            return ["?"]
        if kind == "list":
            element = self.number(shape["member"]["shape"])
            return trimmed(["a", element, shape.get("min"), shape.get("max")])
        if kind == "map":
            return ["m", self.number(shape["value"]["shape"])]
        fields = {capital(n): self.number(m["shape"]) for n, m in shape["members"].items()}
        return trimmed(["o", fields, [capital(name) for name in shape.get("required", [])]])

    def scalar(self, shape, kind):
        bounds = [shape.get("min"), shape.get("max")]
        if kind in NUMBERS:
            return trimmed(["n", *bounds])
        if kind == "boolean":
            return ["b"]
        if kind == "blob":
            return trimmed(["x", *bounds])
        if kind in ("string", "timestamp", "character"):
            return trimmed(["s", *bounds, shape.get("enum")])
        raise ValueError(f"no such type: {kind}")

    def packed(self):
        actions = {}
        for name, operation in self.model["operations"].items():
            if "output" in operation:
                actions[name[:1].lower() + name[1:]] = self.number(operation["output"]["shape"])
            else:
                actions[name[:1].lower() + name[1:]] = None
        text = json.dumps([actions, self.entries], separators=(",", ":"))
        return zlib.compress(text.encode(), 9)


def main():
    index, streams, offset = {}, [], 0
    for name in SERVICES:
        model = latest(name)
        # The name that `aws-sdk:` integrations have for it.
        key = model["metadata"]["serviceId"].replace(" ", "").lower()
        stream = Service(model).packed()
        index[key] = [offset, len(stream)]
        streams.append(stream)
        offset += len(stream)
    target = pathlib.Path(__file__).parent.parent / "crates" / "shapes" / "src" / "shapes.bin"
    header = json.dumps(index, separators=(",", ":")).encode()
    target.write_bytes(header + b"\n" + b"".join(streams))
    print(f"{len(index)} services, {target.stat().st_size} bytes, botocore {botocore.__version__}")


if __name__ == "__main__":
    main()
