"""The claims hold."""

from papers.sigal_2021_frank import run


def test_claims_hold():
    for claim, measurement, holds in run.rows(16):
        assert holds, f"{claim}: {measurement}"
