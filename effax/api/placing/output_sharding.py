"""The keyword `out_sharding`: where the result of a function lies among the devices of a mesh."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from effax.effects.frames import boundary, strip

P = ParamSpec("P")
R = TypeVar("R")

_KEYWORD = inspect.Parameter("out_sharding", inspect.Parameter.KEYWORD_ONLY, default=None)


def placed(function: Callable[P, R]) -> Callable[P, R]:
    """The function with one keyword more: `out_sharding`, a sharding or a spec over the mesh in
    context (or a prefix tree of them), by which its result is cut up; None leaves it alone.

    With it, types inside do not say how operands are cut: what would be ambiguous is not, where the
    result is told. The function itself never sees it; its signature may name it, for type checkers.
    """

    @boundary
    @wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        try:
            if "out_sharding" not in keywords:
                return function(*args, **keywords)
            where = keywords.pop("out_sharding")
            if where is None:
                return function(*args, **keywords)
            from effax.api.placing.resharding import for_result

            return for_result(function, args, keywords, where)
        except Exception as error:
            strip(error)
            raise

    signature = inspect.signature(function)
    given = [p for p in signature.parameters.values() if p.name != "out_sharding"]
    last = next((i for i, p in enumerate(given) if p.kind is p.VAR_KEYWORD), len(given))
    given.insert(last, _KEYWORD)
    call.__signature__ = signature.replace(parameters=given)  # type: ignore[attr-defined]
    return call
