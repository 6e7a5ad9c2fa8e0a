#!/usr/bin/env python3
"""Writes crates/signature/testdata/sigv4.json: signed requests that must be let in.

    pip install botocore==1.44.0
    python3 tools/access_vectors.py path/to/aws-sigv4-1.6.4/aws-signing-test-suite/v4

The one half are the requests of AWS's own test suite for signers, as the crate `aws-sigv4` 1.6.4 carries
it (Apache-2.0, Copyright Amazon.com), signed in a header and in the query string. Left out are those
that only S3 signs so ("unnormalized"), folded headers, which HTTP no longer has, two cases
("double-...") whose parts do not agree, and one whose query is given a token after it was signed, which
neither service here does. The other half botocore signs here.
"""

import datetime
import json
import pathlib
import random
import sys

import botocore.auth
from botocore.auth import SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

VERSION = "1.44.0"
TARGET = pathlib.Path(__file__).parent.parent / "crates" / "signature" / "testdata" / "sigv4.json"


def case(name, request, key, secret, region, service, signed_at):
    method, path, query, headers, body = request
    return {
        "name": name, "method": method, "path": path, "query": query, "headers": headers, "body": body,
        "key": key, "secret": secret, "region": region, "service": service, "signedAt": signed_at,
    }


def parsed(text):
    head, _, body = text.partition("\n\n")
    first, *lines = head.splitlines()
    method, _, rest = first.partition(" ")
    path, _, query = rest.rpartition(" ")[0].partition("?")
    return method, path, query, [line.split(":", 1) for line in lines], body.removesuffix("\n")


def suite(directory):
    for folder in sorted(directory.iterdir()):
        if folder.name.startswith("double-") or folder.name.endswith(("-unnormalized", "-multiline")):
            continue
        context = json.loads((folder / "context.json").read_text())
        keys = context["credentials"]
        for form in ("header", "query"):
            if (folder.name, form) == ("post-sts-header-after", "query"):
                continue
            request = parsed((folder / f"{form}-signed-request.txt").read_text())
            yield case(
                f"{folder.name} ({form})", request, keys["access_key_id"], keys["secret_access_key"],
                context["region"], context["service"], context["timestamp"],
            )


REQUESTS = [
    ("POST", "https://states.eu-central-1.amazonaws.com/", {}, "StartExecution",
     '{"stateMachineArn":"arn:aws:states:eu-central-1:123456789012:stateMachine:a","input":"{\\"ä\\":1}"}'),
    ("POST", "http://sync-localhost:8083/", {"X-Amz-Security-Token": "FwoGZXIvYXdz/+=="}, "TestState", "{}"),
    ("POST", "http://[::1]:8083/", {"X-Note": "  two   spaces\there  "}, "ListStateMachines", '{"maxResults":3}'),
    ("POST", "http://localhost:8083/2015-03-31/functions/arn%3Aaws%3Alambda%3Aeu-west-1%3A1%3Afunction%3Af"
     "/invocations?Qualifier=%24LATEST", {}, None, '{"x":[1,2,3]}'),
    ("GET", "http://localhost:8083/a//b/./c/../d/?b=2&a=1&a=%2F&=x&empty=&bare&A=%C3%A9", {}, None, ""),
    ("DELETE", "http://localhost:8083/%7Euser/a%20b;c=1?x=a%2Bb&y=c%20d&z=~._-", {}, None, ""),
]


def sign(signer, method, url, headers, target, body):
    request = AWSRequest(method=method, url=url, data=body.encode(), headers=dict(headers))
    if target:
        request.headers["X-Amz-Target"] = f"AWSStepFunctions.{target}"
        request.headers["Content-Type"] = "application/x-amz-json-1.0"
    signer.add_auth(request)
    address, _, query = request.url.partition("?")
    host, _, path = address.partition("://")[2].partition("/")
    listed = [[name, value] for name, value in request.headers.items()]
    if not any(name.lower() == "host" for name, _ in listed):
        listed.append(["Host", host])
    return method, "/" + path, query, listed, body


def drawn(draw):
    """A request of arbitrary parts."""
    letters = "abcXYZ019-._~ /%+&=;:@é漢"
    text = lambda most: "".join(draw.choice(letters) for _ in range(draw.randint(0, most)))
    quote = botocore.compat.quote
    path = "/".join(quote(text(8), safe="-._~;:@") for _ in range(draw.randint(0, 4)))
    pairs = [f"{quote(text(5), safe='')}={quote(text(9), safe='')}" for _ in range(draw.randint(0, 4))]
    query = "?" + "&".join(pairs) if pairs else ""
    headers = {f"X-H{n}": text(12).encode("ascii", "ignore").decode() for n in range(draw.randint(0, 3))}
    method = draw.choice(["GET", "POST", "PUT"])
    return method, f"http://localhost:8083/{path}{query}", headers, None, text(40)


def botocore_cases():
    draw = random.Random(4)
    moment = datetime.datetime(2026, 11, 15, 23, 59, 58, tzinfo=datetime.timezone.utc)
    botocore.auth.get_current_datetime = lambda *_: moment
    keys = Credentials("AKIDEVERSTEP", "s3cr3t/with+signs=")
    requests = REQUESTS + [drawn(draw) for _ in range(60)]
    for number, request in enumerate(requests):
        for form, kind in (("header", SigV4Auth), ("query", SigV4QueryAuth)):
            service = "states" if request[3] else "lambda"
            # In the query form botocore moves a body into the query: it is given none.
            body = request[4] if form == "header" else ""
            signed = sign(kind(keys, service, "eu-west-1"), *request[:4], body)
            yield case(
                f"botocore {number} ({form})", signed, keys.access_key, keys.secret_key, "eu-west-1",
                service, moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
            )


def main():
    if botocore.__version__ != VERSION:
        sys.exit(f"botocore {VERSION} is wanted, {botocore.__version__} is installed")
    cases = [*suite(pathlib.Path(sys.argv[1])), *botocore_cases()]
    TARGET.parent.mkdir(exist_ok=True)
    lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
    TARGET.write_text(f"[\n{lines}\n]\n")
    print(f"{len(cases)} signed requests, {TARGET.stat().st_size} bytes, botocore {VERSION}")


if __name__ == "__main__":
    main()
