"""The examples of docs/sdks.md, so that they are run as users will run them."""

import pathlib
import re

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "sdks.md"


def example(heading, server):
    """The first block of code below a heading, for a server of the tests."""
    section = PAGE.read_text().split(f"\n## {heading}\n", 1)[1]
    code = re.search(r"```\w+\n(.*?)```", section, re.DOTALL)[1]
    return code.replace("http://127.0.0.1:8083", server.url)


def session(heading, server):
    """A block that shows a terminal: the commands, and what they print."""
    commands, printed = [], []
    for line in example(heading, server).splitlines():
        if line.startswith("$ ") or (commands and commands[-1].endswith("\\")):
            commands.append(line.removeprefix("$ "))
        else:
            printed.append(line)
    return "\n".join(commands), "\n".join(printed)
