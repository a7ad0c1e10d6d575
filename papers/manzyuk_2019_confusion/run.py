"""Perturbation confusion: nested derivatives must tell their perturbations apart.

Prints claim, measurement and verdict.
"""

import effax as fx
import effax.numpy as jnp
from effax.errors import UnexpectedTracerError
from effax.interpreters.jvp.dual import JVP, Dual


class Tagless(JVP):
    """A handler that takes every dual number for its own: that does not look at who made it."""

    __slots__ = ()

    def owns(self, value):
        return isinstance(value, Dual)

    def split(self, value):
        return (value.primal, value.tangent) if isinstance(value, Dual) else (value, None)

    def apply(self, rule, effect, operands, attributes):
        primals, tangents = zip(*map(self.split, operands), strict=True)
        primal, tangent = rule([*primals], [*tangents], **attributes)
        return self.dual(primal, tangent)


def derivative(handler_class):
    """D: a function of a number to its derivative, by a handler of that class."""

    def d(f):
        def slope(x):
            handler = handler_class()
            one = jnp.ones_like(jnp.asarray(x))
            tangent = handler.split(handler.run(f, handler.dual(jnp.asarray(x), one)))[1]
            return jnp.zeros(()) if tangent is None else tangent

        return slope

    return d


def by_jvp(f):
    return lambda x: fx.jvp(f, (x,), (jnp.ones_like(jnp.asarray(x)),))[1]


def siskind(d, e=None):
    """d/dx x (d/dy (x + y) at y = 1) at x = 1: it is 1."""
    return float(d(lambda x: x * (e or d)(lambda y: x + y)(1.0))(1.0))


def manzyuk(d, e=None):
    """d/dx x (d/dy (x y) at y = 2) at x = 3: of x², so it is 6."""
    return float(d(lambda x: x * (e or d)(lambda y: x * y)(2.0))(3.0))


PROGRAMS = ((siskind, 1.0), (manzyuk, 6.0))
MODES = {"jvp": by_jvp, "grad": fx.grad, "jit": lambda f: fx.jit(by_jvp(f))}


def shift(u):
    """The curried s u f x = f (x + u), whose derivative at u = 0 is the derivative of f."""
    return lambda f: lambda x: f(x + u)


def rows():
    """Claim, measurement, whether it holds."""
    wrong = [program(derivative(Tagless)) for program, _ in PROGRAMS]
    yield (
        "a handler that opens all dual numbers confuses them: 2 in place of 1",
        f"{wrong[0]} in place of 1; {wrong[1]} in place of 6",
        wrong[0] == 2.0 and wrong[1] != 6.0,
    )
    right = [program(derivative(JVP)) for program, _ in PROGRAMS]
    yield (
        "the library's handler, which owns what it made, doesn't: nothing else differs",
        f"{right[0]} and {right[1]}",
        right == [1.0, 6.0],
    )
    nested = {
        f"{a} of {b}": [program(d, e) for program, _ in PROGRAMS]
        for a, d in MODES.items()
        for b, e in MODES.items()
    }
    yield (
        "nor does any nesting of forward mode, reverse mode and jit",
        f"{sum(x == [1.0, 6.0] for x in nested.values())} of {len(nested)} nestings are right",
        all(x == [1.0, 6.0] for x in nested.values()),
    )

    def prime(f):  # the derivative of `shift` at 0, applied: D of the uncurried function
        return lambda x: by_jvp(lambda u: shift(u)(f)(x))(0.0)

    second = float(prime(prime(jnp.exp))(1.0))
    yield (
        "the amazing bug: D (D exp) at 1 by derivatives of a shift is e, not 0",
        f"{second:.6f}, uncurried",
        abs(second - 2.718282) < 1e-5,
    )
    try:
        by_jvp(shift)(0.0)
        answer = "a result"
    except TypeError as error:
        answer = type(error).__name__
    kept = []
    by_jvp(lambda u: (kept.append(u), u)[1])(0.0)
    try:
        kept[0] + 1.0
        late = "a result"
    except UnexpectedTracerError as error:
        late = type(error).__name__
    yield (
        "functions that closures carry out of a derivative are where tags alone go wrong",
        f"refused: a function as a result is a {answer}, a number used too late an {late}",
        "a result" not in (answer, late),
    )


def main():
    """Print the table; 1 if a claim does not hold."""
    results = list(rows())
    for claim, measurement, holds in results:
        print(f"{'PASS' if holds else 'FAIL'}  {claim}\n      {measurement}")
    print("NOTE  not reproduced: derivatives of functions that return functions, which are refused")
    return 0 if all(holds for *_, holds in results) else 1


if __name__ == "__main__":
    raise SystemExit(main())
