"""Laws of checks: checkify computes the same, commutes with the rest, and finds what is wrong."""

from __future__ import annotations

from typing import Any

import effax
from effax.effects.rows import comparison
from effax.laws.law import SAME, Case, law, total


def _checkify(f: Any, errors: Any = None) -> Any:
    from effax.experimental import checkify

    return checkify.checkify(f, errors=checkify.float_checks if errors is None else errors)


def _guarded(c: Case) -> Any:
    """The program, with a check that its results are not large."""
    from effax.experimental import checkify

    def guarded(*xs: Any) -> Any:
        ys = c.f(*xs)
        checkify.check(comparison.lt(total(ys), 1.0), "too large")
        return ys

    return guarded


def _user_checks(f: Any) -> Any:
    from effax.experimental import checkify

    return _checkify(f, checkify.user_checks)


def _said(error: Any) -> str:
    """The error in words, without where it came from."""
    return str(error.get()).splitlines()[0].split(" (")[0]


@law("the value of checkify f is f")
def checkify_keeps_values(c: Case) -> Any:
    error, values = _checkify(c.f)(*c.args)
    return (values, _said(error)), (c.f(*c.args), "None")


@law("checkify (jit f) = jit (checkify f)")
def checkify_commutes_with_jit(c: Case) -> Any:
    one_error, one = _user_checks(effax.jit(_guarded(c)))(*c.args)
    other_error, other = effax.jit(_user_checks(_guarded(c)))(*c.args)
    return (_said(one_error), one), (_said(other_error), other)


@law("the values of checkify (vmap f) are those of vmap (checkify f)")
def checkify_commutes_with_vmap(c: Case) -> Any:
    args = c.batch()
    return _user_checks(effax.vmap(_guarded(c)))(*args)[1], effax.vmap(_user_checks(_guarded(c)))(
        *args
    )[1]


@law("checkify f fails where its check does", relation=SAME)
def checkify_finds_failures(c: Case) -> Any:
    error, values = _user_checks(_guarded(c))(*c.args)
    return _said(error), "None" if bool(comparison.lt(total(values), 1.0)) else "too large"


@law("jvp (checkify f) = checkify (jvp f)")
def checkify_commutes_with_jvp(c: Case) -> Any:
    args, u = tuple(c.args), tuple(c.directions())
    one = effax.jvp(lambda *xs: _user_checks(_guarded(c))(*xs)[1], args, u)
    _, other = _user_checks(lambda xs, us: effax.jvp(_guarded(c), xs, us))(args, u)
    return one, other
