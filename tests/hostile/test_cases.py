"""No execution can hurt the others: each case on every route, beside innocent clients."""

import itertools
import shutil

import pytest

from corpus import cases
from observed import Observed
from routes import Trial

# One of each kind, of those that showed the defects.
SHORT = {
    "size-inline-map-of-large-results",
    "size-chain-of-large-parameters",
    "size-thousand-results-of-70k",
    "time-slow-pass-for-ever",
    "time-many-expressions-in-one-state",
    "time-choice-of-a-thousand-slow-rules",
    "depth-closures-around-closures",
    "depth-objects-made-at-run-time",
    "memory-loop-of-200k",
    "loop-pass-and-choice",
    "loop-retry-parallel",
    "history-25000-events",
    "timer-ten-thousand-in-one-instant",
}


def pytest_generate_tests(metafunc):
    if "case" in metafunc.fixturenames:
        short = metafunc.config.getoption("short")
        wanted = [case for case in cases() if not short or case.name in SHORT]
        metafunc.parametrize("case", wanted, ids=[case.name for case in wanted])


@pytest.fixture(scope="module", autouse=True)
def alone(tmp_path_factory, measured):
    """What innocent clients see when nobody else is there."""
    server = Observed(tmp_path_factory.mktemp("alone") / "store")
    try:
        found = server.measured(samples=150)
    finally:
        server.close()
    measured.extend(f"alone: {kind}: {latency}" for kind, latency in found.items())


def test_the_corpus_is_large_enough():
    assert len(cases()) >= 64
    assert SHORT <= {case.name for case in cases()}


def test_it_hurts_nobody(case, tmp_path, trials):
    numbers = itertools.count()
    trial = Trial(case, lambda: Observed(tmp_path / f"store-{next(numbers)}"))
    trials.append(trial)
    try:
        trial.run()
    finally:
        trial.server.close()
        # The next ones need the room.
        shutil.rmtree(tmp_path)
    problems = [f"{outcome.route}: {problem}" for outcome in trial.outcomes for problem in outcome.problems]
    assert not problems, f"{case.attacks}\n" + "\n".join(problems)
