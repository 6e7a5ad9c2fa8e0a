"""Other users of the same machine, and functions that look for more than is theirs."""

import concurrent.futures
import os
import pathlib
import shutil
import stat
import subprocess
import tempfile

import pytest

from everstep import DEADLINE_SECONDS, until
from house import House, children

ROOT = "/2018-06-01/runtime"
# A server that is not root, and an attacker. Neither number needs a name.
SERVER, STRANGER = 65533, 65534


def become(user):
    return ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]


@pytest.fixture(autouse=True)
def means():
    if os.geteuid() != 0:
        pytest.skip("only root can become other users")
    for program in ("setpriv", "bash"):
        if shutil.which(program) is None:
            pytest.skip(f"there is no {program}: it is in util-linux and bash of Debian")


@pytest.fixture
def folder():
    """One that everybody can look into, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as made:
        os.chmod(made, 0o755)
        yield pathlib.Path(made)


@pytest.fixture
def build(folder):
    built = []

    def build(functions, **options):
        built.append(House(folder, functions, **options))
        return built[-1]

    yield build
    for house in built:
        house.server.stop()


def stranger(*command):
    """What another user gets to see, and whether that worked."""
    ran = subprocess.run(become(STRANGER) + list(command), capture_output=True, text=True, timeout=DEADLINE_SECONDS)
    return ran.returncode == 0, ran.stdout


def ask(address, request):
    """What another user is answered by a Runtime API; one that takes the request does not answer for long."""
    host, port = address.split(":")
    script = f"exec 3<>/dev/tcp/{host}/{port}; printf '%b' \"$1\" >&3; timeout 10 cat <&3; [ $? != 124 ] || echo taken"
    return stranger("bash", "-c", script, "bash", request)[1]


def answer(id):
    body = '"stolen"'
    return f"POST {ROOT}/invocation/{id}/response HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: {len(body)}\\r\\n\\r\\n{body}"


def variables(pid):
    text = pathlib.Path(f"/proc/{pid}/environ").read_text()
    return dict(line.split("=", 1) for line in text.split("\0") if "=" in line)


def address(house):
    """Where the only worker gets its events, whatever others may know of it."""

    def found():
        workers = [variables(pid) for pid in children(house.server.process.pid)]
        return [worker["AWS_LAMBDA_RUNTIME_API"] for worker in workers if "AWS_LAMBDA_RUNTIME_API" in worker]

    return until(found, "a worker")[0]


def test_cold_starts_cannot_be_stolen(build, folder):
    """The worker is there, and a stranger is faster."""
    (folder / "slow.py").write_text(
        "import os, time\n"
        "while not os.path.exists(os.environ['GATE']): time.sleep(0.01)\n"
        "def handler(event, context): return event\n"
    )
    gate = folder / "gate"
    slow = {"handler": "slow.handler", "codeUri": str(folder), "env": {"GATE": str(gate)}, "maxInvocations": 1}
    house = build({"f": slow})
    for n in range(5):
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            called = pool.submit(house.invoke, "f", {"n": n})
            at = address(house)
            assert ask(at, f"GET {ROOT}/invocation/next HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n") == ""
            gate.touch()
            assert called.result()[::2] == (200, {"n": n})
        until(lambda: not children(house.server.process.pid), "the end of the worker")
        gate.unlink()
    refused = [line for line in house.server.said if f"it comes from user {STRANGER}" in line]
    assert len(refused) == 5, house.server.said


def test_answers_cannot_be_forged(build):
    house = build({"f": {"plan": "gate=open+ok"}})
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        called = pool.submit(house.invoke, "f", {"output": "mine"})
        id = house.called("f")[0]["id"]
        assert ask(address(house), answer(id)) == ""
        (house.folder / "open").touch()
        assert called.result()[::2] == (200, "mine")


def test_a_flood_of_strangers_does_not_keep_a_worker_from_its_events(build):
    house = build({"f": {"plan": "gate=open+ok"}})
    id = house.accept("f")
    house.called("f")
    host, port = address(house).split(":")
    # As many connections as a Runtime API has, and more: none of them takes a place.
    script = f"for n in {{1..200}}; do exec {{kept}}<>/dev/tcp/{host}/{port}; done; echo held"
    assert stranger("bash", "-c", script) == (True, "held\n")
    (house.folder / "open").touch()
    assert house.ended(id)["state"] == "Succeeded"


def test_the_server_cannot_be_read(build):
    house = build({"f": {}}, environment={"TOKEN": "s3cr3t-t0k3n"})
    house.invoke("f")
    assert "s3cr3t-t0k3n" in str(variables(house.server.process.pid)), "root can, or this shows nothing"
    for file in ("environ", "mem", "maps", "auxv"):
        assert stranger("cat", f"/proc/{house.server.process.pid}/{file}") == (False, "")
    assert stranger("ls", f"/proc/{house.server.process.pid}/fd") == (False, "")


def test_the_data_cannot_be_read(build, folder):
    house = build({"f": {}})
    house.invoke("f")
    store = folder / "store"
    assert stranger("ls", str(folder)) == (True, "everstep.yaml\nstore\nwitness.jsonl\n")
    assert stranger("ls", str(store)) == (False, "")
    for file in store.rglob("*"):
        assert stranger("cat", str(file)) == (False, ""), file


def test_data_that_everybody_could_read_is_closed(build, folder):
    """As earlier versions have left it."""
    house = build({"f": {}})
    store = folder / "store"
    house.server.kill()
    store.chmod(0o755)
    house.server.start()
    assert stat.S_IMODE(store.stat().st_mode) == 0o700
    assert [line for line in house.server.said if "could be read by other users" in line]
    assert stranger("ls", str(store)) == (False, "")


def command(script, **given):
    return {"runtime": "command", "command": ["sh", "-c", script], "handler": None, "codeUri": None} | given


def test_functions_cannot_read_the_server(build, folder):
    """Though they run as its user, unless that is root."""
    everstep = folder / "everstep"
    shutil.copy(os.environ["EVERSTEP"], everstep)
    everstep.chmod(0o755)
    os.chown(folder, SERVER, SERVER)
    read = "if cat /proc/$PPID/%s >&2; then echo true; else echo false; fi"
    functions = {file: command(read % file, env={}) for file in ("environ", "mem", "auxv")}
    functions["files"] = command("if ls /proc/$PPID/fd >&2; then echo true; else echo false; fi", env={})
    functions["id"] = command("id -u", env={})
    secret = {"TOKEN": "s3cr3t-t0k3n"}
    house = build(functions, environment=secret, command=become(SERVER) + [str(everstep)])
    assert house.invoke("id")[::2] == (200, SERVER)
    for name in functions.keys() - {"id"}:
        assert house.invoke(name)[::2] == (200, False), name
    assert not [line for line in house.server.said if "s3cr3t-t0k3n" in line]


def test_functions_get_only_the_variables_they_name(build):
    house = build(
        {
            "none": command("env >&2; echo null", env={}),
            "named": command("env >&2; echo null", env={"GIVEN": "${env:TOKEN}"}),
        },
        environment={"TOKEN": "s3cr3t-t0k3n", "OTHER": "0th3r"},
    )
    house.invoke("none")
    house.invoke("named")
    said = lambda name: [line.split(" ", 2)[2] for line in house.server.said if line.startswith(f"{name} ")]
    until(lambda: "GIVEN=s3cr3t-t0k3n" in said("named"), "the variable that is named")
    until(lambda: said("none"), "the other variables")
    told = [line for line in said("none") + said("named") if "s3cr3t" in line or "0th3r" in line]
    assert told == ["GIVEN=s3cr3t-t0k3n"]
