"""What the documentation shows in Python does what it says."""

import subprocess
import sys

from documentation import example


def test_the_example_in_python(server):
    program = [sys.executable, "-c", example("Python", server)]
    done = subprocess.run(program, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ('"hello"\nExecutionDoesNotExist\n', "")
