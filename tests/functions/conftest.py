"""A house of its own for each test, taken down at its end."""

import pytest

from house import House


@pytest.fixture
def build(tmp_path):
    built = []

    def build(functions, **options):
        folder = tmp_path / str(len(built))
        folder.mkdir()
        built.append(House(folder, functions, **options))
        return built[-1]

    yield build
    for house in built:
        house.server.stop()
