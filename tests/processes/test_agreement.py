"""Processes that run different programs are told so, and do not hang."""

import pytest

from tests.processes import jobs

CASES = [
    ("other constant", ["line 3", "dense<2.0>", "dense<3.0>"]),
    pytest.param("other order", ["'first'", "'second'"], marks=pytest.mark.slow),
    pytest.param("other data", ["tensor<8xf32>", "tensor<12xf32>"], marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("how", "said"), CASES)
def test_different_programs(how, said):
    job = jobs.run(2, "disagreeing.py", how, seconds=40)
    assert job.code == 1, str(job)
    for index in range(2):
        text = "\n".join(job.lines(index))
        assert "ProgramDisagreementError: processes are about to run different programs" in text
        assert "process 0 of 2 (" in text and "process 1 of 2 (" in text
        assert all(word in text for word in said), text


@pytest.mark.parametrize("waits", [(), pytest.param(("wait",), marks=pytest.mark.slow)])
def test_another_order_of_programs_that_were_run_before(waits):
    """Here each has got the other's numbers, and nothing hangs: found at the end, or meanwhile."""
    job = jobs.run(2, "disagreeing.py", "other order later", *waits, seconds=40)
    assert job.code == 1, str(job)
    text = "as program 5 over processes [0, 1], process 0 of 2 ("
    assert f"ProgramDisagreementError: {text}" in job.err, str(job)
    assert "has run 'first', and process 1 of 2 (" in job.err
    if waits:
        assert f"[0] effax.errors.ProgramDisagreementError: {text}" in job.err


@pytest.mark.slow
def test_a_process_may_run_what_does_not_communicate_alone():
    jobs.run_well(2, "disagreeing.py", "one alone", seconds=40)


@pytest.mark.slow
def test_a_process_that_stays_away_is_named():
    job = jobs.run(2, "disagreeing.py", "one stays away", seconds=40)
    assert job.code == 1, str(job)
    text = "\n".join(job.lines(0))
    assert "ProcessTimeoutError: process 0 of 2 waited 5 s" in text, str(job)
    assert "Not there: process 1 of 2 (" in text and "'first'" in text
