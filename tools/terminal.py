"""Draws what a section of a tutorial shows of a terminal, as an SVG.

    python3 tools/terminal.py docs/tutorial-first-workflow.md "## 5." > docs/images/kill-9.svg

The tutorials are run by the tests, so the picture shows what really happens; a test compares it with the page.
"""

import html
import pathlib
import re
import sys

CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WIDTH, LINE, LEFT, TOP, CHARACTER = 760, 20, 20, 52, 7.83
STYLE = """
rect{fill:#11151b}
text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#c9d1d9;white-space:pre}
.command{fill:#ffffff;font-weight:600}
.good{fill:#53c785}
.bad{fill:#ff7a70}
"""


def main():
    page, heading = sys.argv[1:]
    print(draw(pathlib.Path(page).read_text(), heading))


def draw(text, heading):
    section = text.split(f"\n{heading}", 1)[1].split("\n## ", 1)[0]
    title = section.splitlines()[0].strip()
    lines = "".join(CONSOLE.findall(section)).splitlines()
    height = TOP + LINE * len(lines) + 6
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        f'role="img" aria-label="{html.escape(title)}">',
        f"<style>{STYLE}</style>",
        f'<rect width="{WIDTH}" height="{height}" rx="8"/>',
        *(f'<circle cx="{22 + 18 * at}" cy="20" r="6" fill="{fill}"/>' for at, fill in enumerate(("#ff5f57", "#febc2e", "#28c840"))),
        *(row(line, TOP + LINE * at) for at, line in enumerate(lines)),
        "</svg>",
    ]
    return "\n".join(drawn)


def row(line, y):
    """A line by itself, its blanks kept by where it begins."""
    words = line.lstrip(" ")
    x = LEFT + CHARACTER * (len(line) - len(words))
    return f'<text x="{x:g}" y="{y}" xml:space="preserve"{kind(words)}>{html.escape(words)}</text>'


def kind(words):
    if words.startswith("$ "):
        return ' class="command"'
    if "✗" in words or words.startswith("FAILED"):
        return ' class="bad"'
    if "✓" in words or words.startswith("SUCCEEDED"):
        return ' class="good"'
    return ""


if __name__ == "__main__":
    main()
