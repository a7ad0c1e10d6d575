"""The verdicts are those of the README: of two claims, that they do not hold."""

from papers.xie_2020_evidence import run


def test_verdicts():
    for (claim, measurement, holds), expected in zip(run.rows(20), run.VERDICTS, strict=True):
        assert holds is expected, f"{claim}: {measurement}"
