"""Doctests are the same on every Python from 3.11 on: early ones compare the last line of what an
exception says alone, which is a note where there are notes; later ones compare it whole."""

import doctest
import traceback
from typing import Any


class _Whole:
    """The module `traceback`, whose words of an exception are one piece."""

    def __getattr__(self, name: str) -> Any:
        return getattr(traceback, name)

    @staticmethod
    def format_exception_only(kind: type[BaseException], value: BaseException) -> list[str]:
        lines = traceback.format_exception_only(kind, value)
        return lines if issubclass(kind, SyntaxError) else ["".join(lines)]


doctest.traceback = _Whole()  # type: ignore[attr-defined]
