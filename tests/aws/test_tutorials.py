"""Tutorials and the pages of examples, followed from the first line to the last.

`UPDATE_EXPECT=1` writes what is printed now onto the page.
"""

import os
import pathlib

import pytest

from tutorial import follow, free_address

ROOT = pathlib.Path(__file__).parents[2]
PAGES = sorted(page for pages in ("docs/tutorial-*.md", "examples/*/README.md") for page in ROOT.glob(pages))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page(page, tmp_path):
    follow(page, tmp_path, free_address(), update="UPDATE_EXPECT" in os.environ)
