"""The claims hold."""

from papers.schenck_2022_adbench import run


def test_claims_hold():
    for claim, measurement, holds in run.rows(1):
        assert holds, f"{claim}: {measurement}"
