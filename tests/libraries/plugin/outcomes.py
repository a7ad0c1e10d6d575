"""A pytest plugin for `own_suites.py`: it notes each outcome at once, and ends tests that take too long.

The line of a test is written when it ends, so that a process that dies leaves the others' outcomes.
"""

import json
import signal
import zlib

import pytest


def pytest_addoption(parser):
    """Say where outcomes go, how long a test may take, and which part of the tests is run."""
    parser.addoption("--outcomes", required=True)
    parser.addoption("--seconds", type=int, required=True)
    parser.addoption("--one-in", type=int, default=1)
    parser.addoption("--given", help="a file with the tests to run, one a line")


def pytest_collection_modifyitems(config, items):
    """Keep the given tests, or a part that is the same in each run."""
    n, given = config.option.one_in, config.option.given
    kept = [x for x in items if zlib.crc32(x.nodeid.encode()) % n == 0]
    if given:
        with open(given) as file:
            chosen = set(file.read().splitlines())
        kept = [x for x in kept if x.nodeid in chosen]
    config.hook.pytest_deselected(items=[x for x in items if x not in set(kept)])
    items[:] = kept


def _note(config, test, outcome, text):
    with open(config.option.outcomes, "a") as file:
        file.write(json.dumps({"test": test, "outcome": outcome, "text": text}) + "\n")


def _too_long(signum, frame):
    raise TimeoutError("this test took longer than it may")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Give a test its seconds, from its set-up to its end."""
    signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(item.config.option.seconds)
    try:
        return (yield)
    finally:
        signal.alarm(0)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    """Note what a test came to."""
    report = yield
    if report.when == "call" or report.outcome != "passed":
        expected = hasattr(report, "wasxfail")
        outcome = "skipped" if expected else report.outcome
        _note(item.config, item.nodeid, outcome, report.longreprtext[-4000:])
    return report


def pytest_collectreport(report):
    """Note a file that could not be imported."""
    if report.failed:
        _note(_config[0], report.nodeid, "failed", report.longreprtext[-4000:])


_config = []


def pytest_configure(config):
    """Keep the options for what is not given them."""
    _config[:] = [config]
