"""Each tutorial, followed from its first line to its last. `UPDATE_EXPECT=1` writes what is printed now onto the page."""

import os
import pathlib

import pytest

from tutorial import follow, free_address

PAGES = sorted((pathlib.Path(__file__).parents[2] / "docs").glob("tutorial-*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_tutorial(page, tmp_path):
    follow(page, tmp_path, free_address(), update="UPDATE_EXPECT" in os.environ)
