"""Follows a page of the documentation as a reader would: saves its files, types its commands, compares what they print.

A block of code after a line that ends in "`NAME`:" is a file. A `console` block shows a terminal: lines that begin with `$ `
are commands, the others are what they print. `everstep dev` and `everstep serve` stay in the first terminal; a block without
a command shows what appears there. `…` stands for any text, alone on a line for any lines. Durations, dates and ids
may differ from those on the page.
"""

import difflib
import fcntl
import os
import pathlib
import pty
import re
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading

from everstep import DEADLINE_SECONDS, until

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"`([\w./-]+)`:\n\n\Z")
ON_PAGE = "http://127.0.0.1:8083"
FOLDER_ON_PAGE = "/home/you"
# What pages call by name: the server under test, a Python that has boto3, the AWS command line.
PROGRAMS = [os.environ["EVERSTEP"], sys.executable, os.environ.get("EVERSTEP_AWS_CLI", sys.executable)]
SERVERS = ("everstep dev", "everstep serve")
COLUMNS = 100
# What a terminal would not show: colours, and what a line held before it was cleared.
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
CLEARED = re.compile(r"[^\n]*\r\x1b\[2K")
# What differs from run to run.
VARIES = [
    # What takes less than a millisecond is shown without a duration.
    (re.compile(r"(✓ \S+) +\d+ ms$"), r"\1"),
    (re.compile(r"\d{4}-\d\d-\d\d|\d\d:\d\d:\d\dZ"), "DATE"),
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "ID"),
    (re.compile(r"\d+\.\d+ s\b|\d+ ms\b|(?<= in )\d+ min \d+ s\b"), "TIME"),
    (re.compile(r"[─═]+"), "─"),
    (re.compile(r"[ \t]+"), " "),
]


def follow(page, folder, address, update=False):
    """Does what the page says; with `update`, writes what commands print now onto the page.

    The page of an example is followed in the folder of the example, any other beside the examples.
    """
    shutil.copytree(EXAMPLES, folder / "examples", ignore=shutil.ignore_patterns(".*", "__pycache__"))
    place = folder / page.parent.relative_to(EXAMPLES.parent) if page.is_relative_to(EXAMPLES) else folder
    with Reader(folder, place, address) as reader:
        text = reader.read(page.read_text(), update)
    if update:
        page.write_text(text)


def folder_of(program):
    return str(pathlib.Path(shutil.which(program) or program).absolute().parent)


def free_address():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{taken.getsockname()[1]}"


class Reader:
    """One folder, two terminals: one for the server, one for all else."""

    def __init__(self, folder, place, address):
        self.folder = pathlib.Path(folder)
        self.url = f"http://{address}"
        self.state = self.folder / ".shell-state"
        self.server = None
        self.code = 0
        variables = {
            "PATH": ":".join([*map(folder_of, PROGRAMS), os.environ["PATH"]]),
            "EVERSTEP_LISTEN": address,
            "EVERSTEP_ENDPOINT": self.url,
            "TERM": "xterm",
            "NO_COLOR": "1",
            "AWS_PAGER": "",
            "HOME": str(self.folder),
        }
        lines = [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
        self.state.write_text("\n".join(lines + [f"cd {shlex.quote(str(place))}"]) + "\n")

    def read(self, text, update, language="console"):
        """Follows a text, and returns it with what commands print now."""
        return BLOCK.sub(lambda block: self.block(text[: block.start()], block, update, language), text)

    def block(self, before, block, update, terminal):
        language, body = block.groups()
        if language != terminal:
            if named := FILE.search(before):
                (self.here() / named[1]).write_text(body.replace(ON_PAGE, self.url))
            return block[0]
        if not body.startswith("$ "):
            self.server.shows(body.splitlines())
            return block[0]
        steps = [self.step(*step, update) for step in steps_of(body)]
        return f"```{language}\n" + "".join(steps) + "```"

    def step(self, command, printed, update):
        shown = "".join(f"{line}\n" for line in command)
        typed = "\n".join(command).removeprefix("$ ").replace(ON_PAGE, self.url)
        if typed.startswith(SERVERS):
            self.server = Server(self.script(f"exec {typed}"), self.plain)
            self.server.shows(printed)
            return shown + lines_of(printed)
        with Terminal(self.script(typed, keep=True)) as terminal:
            seen = self.plain(terminal.read()).splitlines()
        if not matches(printed, seen):
            assert update, f"$ {typed}\n--- on the page:\n{lines_of(printed)}--- now:\n{lines_of(seen)}"
            printed = updated(printed, seen)
        return shown + lines_of(printed)

    def script(self, command, keep=False):
        """A command in the folder, with the variables and after the exit code that commands before it have left."""
        script = [f". {shlex.quote(str(self.state))}", f"(exit ${{code:-0}})", command]
        if keep:
            script += ["code=$?", f"{{ export -p; echo \"code=$code\"; echo \"cd '$PWD'\"; }} > {shlex.quote(str(self.state))}"]
        return "\n".join(script)

    def here(self):
        return pathlib.Path(shlex.split(self.state.read_text().splitlines()[-1])[1])

    def plain(self, text):
        """What is seen of an output, with the address and the folder that the page has."""
        text = CLEARED.sub("", COLOUR.sub("", text.replace("\r\n", "\n")))
        return text.replace(f" --endpoint {self.url}", "").replace(self.url, ON_PAGE).replace(str(self.folder), FOLDER_ON_PAGE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.server:
            self.server.stop()


class Terminal:
    """A shell that believes it writes to a terminal of a hundred columns."""

    def __init__(self, script):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
        clean = {k: v for k, v in os.environ.items() if not k.startswith("EVERSTEP")}
        self.process = subprocess.Popen(
            ["sh", "-c", script], stdin=subprocess.DEVNULL, stdout=slave, stderr=slave, env=clean, start_new_session=True
        )
        os.close(slave)

    def pieces(self):
        """What is written, until nobody has the terminal open."""
        while True:
            try:
                piece = os.read(self.master, 65536)
            except OSError:
                return
            if not piece:
                return
            yield piece

    def read(self):
        return b"".join(self.pieces()).decode()

    def __enter__(self):
        # A command that does not come to its end must not hold the tests up.
        self.timer = threading.Timer(2 * DEADLINE_SECONDS, self.process.kill)
        self.timer.start()
        return self

    def __exit__(self, *_):
        self.process.wait()
        self.timer.cancel()
        os.close(self.master)


class Server:
    """The first terminal."""

    def __init__(self, script, plain):
        self.terminal = Terminal(script)
        self.plain = plain
        self.written = b""
        self.read_to = 0
        self.reader = threading.Thread(target=self.listen, daemon=True)
        self.reader.start()

    def listen(self):
        for piece in self.terminal.pieces():
            self.written += piece

    def lines(self):
        return self.plain(self.written.decode(errors="replace")).splitlines()

    def shows(self, expected):
        """Waits until each line has appeared, after the one before it."""
        for line in expected:
            if line != "…":
                until(lambda: self.found(line), Shown(line, self.lines))

    def found(self, line):
        for at, seen in enumerate(self.lines()):
            if at >= self.read_to and matches([line], [seen]):
                self.read_to = at + 1
                return True
        return False

    def stop(self):
        process = self.terminal.process
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(DEADLINE_SECONDS)
        self.reader.join()
        os.close(self.terminal.master)


class Shown:
    """A line that was waited for, and what there was instead when the wait ended."""

    def __init__(self, line, lines):
        self.line, self.lines = line, lines

    def __str__(self):
        return f"`{self.line}` in:\n{lines_of(self.lines())}"


def steps_of(body):
    """Each command of a block, as its lines, and the lines that it prints."""
    steps = []
    for line in body.splitlines():
        if line.startswith("$ "):
            steps.append(([line], []))
        elif steps and not steps[-1][1] and steps[-1][0][-1].endswith("\\"):
            steps[-1][0].append(line)
        else:
            steps[-1][1].append(line)
    return steps


def lines_of(lines):
    return "".join(f"{line}\n" for line in lines)


def updated(printed, seen):
    """What is printed now; what the page leaves out by `…` stays left out."""
    if "…" not in map(str.strip, printed):
        return seen
    lines = []
    plain = [list(map(varying, text)) for text in (printed, seen)]
    for change, from_page, to_page, from_seen, to_seen in difflib.SequenceMatcher(None, *plain).get_opcodes():
        kept = change == "equal" or [line.strip() for line in printed[from_page:to_page]] == ["…"]
        lines += printed[from_page:to_page] if kept else seen[from_seen:to_seen]
    return lines


def matches(expected, seen):
    parts = [r"(?:.*\n)*?" if line.strip() == "…" else pattern(line) for line in expected]
    return re.fullmatch("".join(parts), lines_of(map(varying, seen))) is not None


def pattern(line):
    return ".*".join(re.escape(part) for part in varying(line).split("…")) + r"\n"


def varying(line):
    for found, instead in VARIES:
        line = found.sub(instead, line)
    return line.strip()
