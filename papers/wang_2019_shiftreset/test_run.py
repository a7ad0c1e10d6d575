"""The claims hold."""

from papers.wang_2019_shiftreset import run


def test_claims_hold():
    for claim, measurement, holds in run.rows(2):
        assert holds, f"{claim}: {measurement}"
