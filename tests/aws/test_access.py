"""Who may call: signatures in headers and in the query string, keys, clocks; and the `sync-` host."""

import datetime
import hashlib
import json
import socket
import urllib.parse

import botocore.auth
import pytest
from botocore.auth import SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

from conftest import World
from definitions import passing
from everstep import REGION, Server

KEY, SECRET = "AKIAEVERSTEP", "a secret/with+signs="
OTHER_KEY, OTHER_SECRET = "AKIAOTHER", "another"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    keys = f"{KEY}:{SECRET},{OTHER_KEY}:{OTHER_SECRET}"
    server = Server(tmp_path_factory.mktemp("guarded") / "store", {"EVERSTEP_ACCESS_KEYS": keys})
    yield server
    server.stop()


def refused(call):
    with pytest.raises(ClientError) as raised:
        call()
    return raised.value.response["Error"]["Code"], raised.value.response["Error"]["Message"]


def test_known_keys_may_call(guarded):
    for key, secret in [(KEY, SECRET), (OTHER_KEY, OTHER_SECRET)]:
        assert "stateMachines" in guarded.client(key, secret).list_state_machines()
    everything = World(guarded, guarded.client(KEY, SECRET))
    assert everything.output(passing({"signed": True}), {"ü": "…"}) == {"signed": True}


def test_unknown_keys_and_wrong_secrets_may_not(guarded):
    code, _ = refused(guarded.client("AKIANOBODY", SECRET).list_state_machines)
    assert code == "UnrecognizedClientException"
    code, message = refused(guarded.client(KEY, OTHER_SECRET).list_state_machines)
    assert code == "InvalidSignatureException" and "does not match the signature you provided" in message


def test_unsigned_requests_may_not(guarded):
    status, _, body = guarded.post("ListStateMachines", {})
    assert status == 400 and body["__type"].endswith("#MissingAuthenticationTokenException")


@pytest.mark.parametrize(("minutes", "says"), [(-6, "Signature expired"), (6, "Signature not yet current")])
def test_clocks_must_agree(guarded, monkeypatch, minutes, says):
    now = botocore.auth.get_current_datetime
    skew = datetime.timedelta(minutes=minutes)
    monkeypatch.setattr(botocore.auth, "get_current_datetime", lambda *given, **named: now(*given, **named) + skew)
    code, message = refused(guarded.client(KEY, SECRET).list_state_machines)
    assert code == "InvalidSignatureException" and message.startswith(says)


def test_a_signature_is_good_for_its_own_body(guarded):
    client = guarded.client(KEY, SECRET)
    client.meta.events.register("before-send", lambda request, **_: setattr(request, "body", b'{"maxResults":1}'))
    code, _ = refused(client.list_state_machines)
    assert code == "InvalidSignatureException"


class Presigner(SigV4QueryAuth):
    """botocore's, for a request that keeps its body: its own would move that into the query string."""

    def __init__(self, body, secret=SECRET, expires=60):
        super().__init__(Credentials(KEY, secret), "states", REGION, expires=expires)
        self.body = body

    def payload(self, _):
        return hashlib.sha256(self.body).hexdigest()


def presigned(server, body, sent=None, **options):
    headers = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "AWSStepFunctions.ListStateMachines"}
    request = AWSRequest("POST", server.url + "/", dict(headers), data=b"")
    Presigner(body, **options).add_auth(request)
    url = urllib.parse.urlsplit(request.url)
    status, _, answer = server.post(
        "ListStateMachines", body if sent is None else sent, headers, f"{url.path}?{url.query}"
    )
    return status, answer


def test_presigned_requests(guarded):
    status, answer = presigned(guarded, b'{"maxResults":5}')
    assert status == 200 and "stateMachines" in answer
    for wrong in [
        presigned(guarded, b"{}", secret="wrong"),
        presigned(guarded, b"{}", sent=b'{"maxResults":1}'),
        presigned(guarded, b"{}", expires=-1),
    ]:
        assert wrong[0] == 400 and "stateMachines" not in wrong[1], wrong


def on_this_machine(monkeypatch):
    """Names that begin with `sync-` are looked up as what they stand for, as a hosts file would say."""
    look_up = socket.getaddrinfo
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda host, *rest, **named: look_up(host.removeprefix("sync-"), *rest, **named)
    )


def test_the_host_that_sdks_make_up(world, guarded, monkeypatch):
    on_this_machine(monkeypatch)
    for server in [world.server, guarded]:
        sfn = server.client(KEY, SECRET, inject_host_prefix=True)
        hosts = []
        sfn.meta.events.register("before-send", lambda request, hosts=hosts, **_: hosts.append(request.url))
        machine = World(server, sfn).express(passing({"a": 1}))
        done = sfn.start_sync_execution(stateMachineArn=machine)
        assert json.loads(done["output"]) == {"a": 1}
        assert hosts[-1].startswith("http://sync-127.0.0.1:")
        state = sfn.test_state(definition='{"Type":"Pass","End":true}', input="1")
        assert state["output"] == "1" and hosts[-1].startswith("http://sync-127.0.0.1:")


def test_hosts_that_sdks_ask_for(world):
    machine = world.express(passing({"a": 1}))
    for host in ["sync-localhost:8083", "sync-states.us-east-1.amazonaws.com", "states.us-east-1.amazonaws.com"]:
        status, _, body = world.server.post("StartSyncExecution", {"stateMachineArn": machine}, {"Host": host})
        assert (status, body["output"]) == (200, '{"a":1}'), host
