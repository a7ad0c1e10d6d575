"""Programs of users, under mypy; under pyright with `make pyright`."""

from tests.typing.checkers import PROGRAMS, disagreement, expected, refused_by_mypy


def test_mypy_accepts_what_is_right_and_refuses_what_is_marked():
    assert not disagreement(refused_by_mypy(PROGRAMS), expected())
