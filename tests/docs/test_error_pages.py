"""Each error has a page: why it is raised, a program that raises it, and the mended program."""

import pytest

from effax import errors
from tests.architecture.sources import ROOT

FOLDER = ROOT / "docs" / "errors"
PAGES = {page.stem: page.read_text(encoding="utf-8") for page in FOLDER.glob("*.md")}
GENERAL = {"EffaxError", "JAXTypeError", "JAXIndexError"}
NOT_RUN = {  # they need several processes or devices: tests/processes and tests/parallel raise them
    "CollectiveDivergenceError",
    "ForkedProcessError",
    "ProcessLostError",
    "ProcessTimeoutError",
    "ProgramDisagreementError",
    "ShardingTypeError",
}


def kinds(cls):
    yield cls
    for kind in cls.__subclasses__():
        yield from kinds(kind)


def test_each_public_error_has_a_page_and_no_other_has():
    public = {name for name in errors.__all__ if name[0].isupper()}
    assert set(PAGES) == public - GENERAL


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_a_program_that_raises_it_and_one_that_does_not(name):
    wrong, right = PAGES[name].split("\n## Instead\n")
    assert "```" in wrong and "```" in right and "Traceback" not in right
    if name in NOT_RUN:
        assert ">>>" not in wrong
    elif name == "UnexpectedTracerError":
        assert "EscapedCarrierError: " in wrong
    else:
        assert f"{name}: " in wrong or f"except effax.errors.{name} as" in wrong


def test_each_error_names_a_page_that_exists():
    for kind in {*kinds(errors.EffaxError)}:
        if kind.__module__.startswith("effax.") and kind.__name__ not in GENERAL:
            guide = kind.guide()
            assert guide == "" or (ROOT / guide).exists(), kind


def test_a_traceback_ends_with_the_page():
    import effax

    with pytest.raises(errors.TracerBoolConversionError) as caught:
        effax.jit(lambda x: 1 if x > 0 else 2)(1.0)
    assert caught.value.__notes__[-1].endswith("docs/errors/TracerBoolConversionError.md)")
    with pytest.raises(TypeError) as caught:
        effax.jit(lambda x: x + "a")(1.0)
    assert "docs/errors" not in caught.value.__notes__[-1]
