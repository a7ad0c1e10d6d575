"""The claims hold."""

from papers.plotkin_2009_handlers import run


def test_claims_hold():
    for claim, measurement, holds in run.rows():
        assert holds, f"{claim}: {measurement}"
