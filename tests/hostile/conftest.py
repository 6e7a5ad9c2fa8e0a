"""A table of all cases at the end, whatever became of them."""

import pytest

TRIALS, MEASURED = [], []


def pytest_addoption(parser):
    parser.addoption("--short", action="store_true", help="the cases of SHORT alone")
    parser.addoption("--measure", action="store_true", help="only measure innocent executions beside hostile ones")


def pytest_ignore_collect(collection_path, config):
    """Either the cases or the measurement."""
    measured = collection_path.name == "test_measure.py"
    if collection_path.name.startswith("test_"):
        return True if measured != config.getoption("measure") else None


@pytest.fixture(scope="session")
def trials():
    return TRIALS


@pytest.fixture(scope="session")
def measured():
    return MEASURED


def pytest_terminal_summary(terminalreporter):
    write = terminalreporter.write_line
    for line in MEASURED:
        write(line)
    if not TRIALS:
        return
    write(f"{'case':40} {'route':10} {'outcome':38} {'seconds':>8} {'innocent':>9} {'resident':>9}")
    for trial in TRIALS:
        for outcome in trial.outcomes:
            figures = f"{outcome.seconds:7.1f}s {outcome.innocent_seconds * 1000:7.0f}ms {outcome.resident_kib // 1024:6}MiB"
            write(f"{trial.case.name[:40]:40} {outcome.route:10} {outcome.word[:38]:38} {figures}")
            for problem in outcome.problems:
                write(f"    !! {problem[:300]}")
    failed = sum(any(outcome.problems for outcome in trial.outcomes) for trial in TRIALS)
    write(f"{len(TRIALS)} cases, {failed} with problems")
