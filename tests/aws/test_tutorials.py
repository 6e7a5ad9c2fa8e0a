"""What pages show of a terminal: tutorials and the pages of examples, followed from the first line to the last, and the
commands for a server.

`UPDATE_EXPECT=1` writes what is printed now onto the page.
"""

import os
import pathlib
import shutil

import pytest

from tutorial import Reader, follow, free_address

ROOT = pathlib.Path(__file__).parents[2]
FOLLOWED = ("docs/run.md", "docs/tutorial-*.md", "examples/*/README.md")
PAGES = sorted(page for pages in FOLLOWED for page in ROOT.glob(pages))
SHOP = pathlib.Path(__file__).parent / "shop"
UPDATE = "UPDATE_EXPECT" in os.environ


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page(page, tmp_path):
    follow(page, tmp_path, free_address(), UPDATE)


# What the page does not show: what its server has done before.
BEFORE = """
```console
$ everstep dev
everstep listens on …
$ everstep activities create approve
…
$ everstep executions start approval --name order-17
…
$ everstep invoke patient --async --key order-17
…
```

```console
! patient attempt 1 failed: …
```
"""


def test_the_commands_for_a_server(tmp_path):
    page, heading = ROOT / "docs/cli.md", "## Commands for a server\n"
    shutil.copytree(SHOP, tmp_path, dirs_exist_ok=True)
    before, commands = page.read_text().split(heading)
    with Reader(tmp_path, tmp_path, free_address()) as reader:
        reader.read(BEFORE, update=False)
        commands = reader.read(commands, UPDATE, language="text")
    if UPDATE:
        page.write_text(before + heading + commands)
