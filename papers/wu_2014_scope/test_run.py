"""The claims hold."""

from papers.wu_2014_scope import run


def test_claims_hold():
    for claim, measurement, holds in run.rows():
        assert holds, f"{claim}: {measurement}"
