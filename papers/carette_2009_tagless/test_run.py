"""The claims hold."""

from papers.carette_2009_tagless import run


def test_claims_hold():
    for claim, measurement, holds in run.rows():
        assert holds, f"{claim}: {measurement}"
