"""The claims hold."""

from papers.xie_2024_parallel import run


def test_claims_hold():
    for claim, measurement, holds in run.rows(3):
        assert holds, f"{claim}: {measurement}"
