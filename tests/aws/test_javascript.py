"""The AWS SDK for JavaScript: `js/sfn.test.js`, in the folder where its packages are installed."""

import os
import subprocess


def test_javascript(server):
    environment = os.environ | {"EVERSTEP_URL": server.url}
    command = ["node", "--test", "sfn.test.js"]
    done = subprocess.run(command, cwd=os.environ["EVERSTEP_JAVASCRIPT"], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "# pass 6" in done.stdout, done.stdout
