"""The AWS SDK for JavaScript: the tests of `js/`, in the folder where its packages are installed."""

import os
import subprocess

import pytest

from documentation import example


def node(server, *arguments, **options):
    environment = os.environ | {"EVERSTEP_URL": server.url}
    folder = os.environ["EVERSTEP_JAVASCRIPT"]
    return subprocess.run(["node", *arguments], cwd=folder, env=environment, capture_output=True, text=True, **options)


@pytest.mark.parametrize("file", ["sfn.test.js", "sqs.test.js"])
def test_javascript(server, file):
    done = node(server, "--test", file)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_example_of_the_documentation(server):
    done = node(server, "--input-type=module", "-", input=example("JavaScript", server))
    assert done.stdout == '"hello"\n', done.stderr
