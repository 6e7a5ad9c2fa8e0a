"""What the documentation shows is what the program does. `UPDATE_EXPECT=1` writes the pictures anew."""

import os
import pathlib
import subprocess
import sys

import pytest

from documentation import example

ROOT = pathlib.Path(__file__).parents[2]
PICTURES = {
    "kill-9.svg": [sys.executable, "tools/terminal.py", "docs/tutorial-first-workflow.md", "## 5."],
    "order.svg": [os.environ["EVERSTEP"], "graph", "examples/order/order.asl.json"],
}


def test_the_example_in_python(server):
    program = [sys.executable, "-c", example("Python", server)]
    done = subprocess.run(program, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ('"hello"\nExecutionDoesNotExist\n', "")


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture(name):
    drawn = subprocess.run(PICTURES[name], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    picture = ROOT / "docs/images" / name
    if "UPDATE_EXPECT" in os.environ:
        picture.write_text(drawn)
    assert picture.read_text() == drawn, " ".join(PICTURES[name])
