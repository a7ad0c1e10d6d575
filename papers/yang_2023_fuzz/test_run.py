"""The claims hold, on a sample."""

from papers.yang_2023_fuzz import run


def test_claims_hold():
    for claim, measurement, holds in run.rows():
        assert holds, f"{claim}: {measurement}"
