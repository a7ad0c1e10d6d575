"""The 25 programs of research.md, E3, as data, and the transforms that are nested over them.

A program maps float64[5] to an array. Nothing here imports effax or jax: `make(jax, jnp)` builds
the program from whichever library is given, so that the goldens (tests/goldens/make_e3.py, under
jax) and the tests (test_e3.py, under effax) run the same text.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Fun = Callable[..., Any]

X = np.array([0.7, -1.1, 0.4, 1.6, -0.3])
V = np.array([1.0, -0.5, 0.25, 2.0, -1.5])
# Added to x, these make the three points of `vmap`: both branches of `cond`, all three of
# `switch` and different trip counts of `while` are taken.
OFFSETS = np.array([[0.0] * 5, [-1.2, 1.9, 0.1, -0.2, 0.5], [0.9, 1.3, -2.0, 1.5, 0.2]])
A = np.array(
    [
        [0.5, -0.2, 0.1, 0.0, 0.3],
        [0.1, 0.4, -0.3, 0.2, 0.0],
        [-0.4, 0.2, 0.6, 0.1, -0.1],
        [0.0, 0.3, 0.2, -0.5, 0.2],
        [0.2, 0.0, -0.1, 0.4, 0.7],
    ]
)
INDEX = np.array([0, 2, 2, 4, 1])


class Program(NamedTuple):
    """`make(jax, jnp)` is the program; `needs` the features beyond first-order effects.

    `twin` computes the same numbers by means that every derivative goes through. Where jax refuses
    (`refused`), the golden is the twin's.
    """

    make: Callable[[Any, Any], Fun]
    needs: frozenset[str] = frozenset()
    twin: Callable[[Any, Any], Fun] | None = None


PROGRAMS: dict[str, Program] = {}


def program(*needs: str, twin: Callable[[Any, Any], Fun] | None = None):
    def register(make):
        PROGRAMS[make.__name__] = Program(make, frozenset(needs), twin)
        return make

    return register


@program()
def polynomial(jax, jnp):
    return lambda x: x**3 - 2 * x


@program()
def dense_tanh(jax, jnp):
    return lambda x: jnp.tanh(A @ x)


@program()
def logsumexp(jax, jnp):
    return lambda x: jax.nn.logsumexp(x) * x


@program()
def where(jax, jnp):
    return lambda x: jnp.where(x > 0, jnp.sin(x), x**2)


@program()
def sort(jax, jnp):
    return lambda x: jnp.sort(x) * x


@program()
def cumsum(jax, jnp):
    return lambda x: jnp.cumsum(x**2)


@program()
def gather(jax, jnp):
    return lambda x: x[INDEX] * x


@program()
def scatter_add(jax, jnp):
    return lambda x: x.at[INDEX].add(jnp.sin(x))


@program("control")
def scan(jax, jnp):
    def step(c, a):
        c = jnp.sin(c) + a
        return c, c * a

    return lambda x: jax.lax.scan(step, 0.5, x)[1]


@program("control")
def cond(jax, jnp):
    return lambda x: jax.lax.cond(x[0] > 0, jnp.sin, lambda x: x * x, x)


@program("control")
def fori_loop(jax, jnp):
    return lambda x: jax.lax.fori_loop(0, 3, lambda i, c: jnp.sin(c) * (i + 1), x)


def bounded_while(jax, jnp):
    def f(x):
        for _ in range(12):  # more steps than any of the points takes
            x = jnp.where(jnp.sum(x**2) < 100, 1.5 * x + 0.1, x)
        return x

    return f


@program("control", twin=bounded_while)
def while_loop(jax, jnp):
    return lambda x: jax.lax.while_loop(lambda c: jnp.sum(c**2) < 100, lambda c: 1.5 * c + 0.1, x)


@program()
def jit(jax, jnp):
    return jax.jit(lambda x: jnp.exp(-(x**2)))


@program("custom")
def checkpoint(jax, jnp):
    return jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)))


@program("custom")
def custom_jvp(jax, jnp):
    @jax.custom_jvp
    def sin(x):
        return jnp.sin(x)

    @sin.defjvp
    def sin_jvp(primals, tangents):
        return sin(*primals), jnp.cos(primals[0]) * tangents[0]

    return sin


@program("custom", twin=lambda jax, jnp: jnp.sin)
def custom_vjp(jax, jnp):
    @jax.custom_vjp
    def sin(x):
        return jnp.sin(x)

    sin.defvjp(lambda x: (jnp.sin(x), x), lambda x, ct: (jnp.cos(x) * ct,))
    return sin


@program()
def relu(jax, jnp):
    return lambda x: jax.nn.relu(x)


@program("linalg")
def cholesky(jax, jnp):
    return lambda x: jnp.linalg.cholesky(A @ A.T + jnp.diag(jnp.exp(x)))[:, 0]


@program("fft")
def fft(jax, jnp):
    return lambda x: jnp.real(jnp.fft.fft(x)) * x


@program()
def normalize(jax, jnp):
    return lambda x: x / jnp.linalg.norm(x)


@program()
def dynamic_slice(jax, jnp):
    return lambda x: jax.lax.dynamic_slice(x, (jnp.argmax(x) // 2,), (3,)) * x[:3]


@program("control")
def switch(jax, jnp):
    def f(x):
        index = (x[0] > 0).astype(jnp.int32) + (x[1] > 0).astype(jnp.int32)
        return jax.lax.switch(index, [jnp.sin, jnp.cos, jnp.tanh], x)

    return f


@program("control")
def associative_scan(jax, jnp):
    return lambda x: jax.lax.associative_scan(lambda a, b: a * b, x)


@program("custom")
def custom_linear_solve(jax, jnp):
    def f(x):
        return jax.lax.custom_linear_solve(
            lambda v: 3.0 * v, x, lambda _, b: b / 3.0, lambda _, b: b / 3.0, symmetric=True
        ) * jnp.sin(x)

    return f


@program()
def vmap(jax, jnp):
    return lambda x: jax.vmap(lambda a: jnp.sin(a) * jnp.sum(x))(x)


# ---- the transforms: each takes a function of float64[5] to another one


def jit_of(jax, jnp, f):
    return jax.jit(f)


def vmap_of(jax, jnp, f):
    return lambda x: jax.vmap(f)(x + OFFSETS)


def jvp_of(jax, jnp, f):
    return lambda x: jax.jvp(f, (x,), (V + 0 * x,))[1]


def grad_of(jax, jnp, f):
    def scalarised(x):
        y = f(x)
        weights = np.cos(np.arange(y.size)).reshape(y.shape)
        return jnp.sum(weights * y)

    return jax.grad(scalarised)


TRANSFORMS: dict[str, Fun] = {"jit": jit_of, "vmap": vmap_of, "jvp": jvp_of, "grad": grad_of}
# ("grad", "jit") is grad(jit(f)).
NESTINGS = [(t,) for t in TRANSFORMS] + [(t, u) for t in TRANSFORMS for u in TRANSFORMS]


def nest(jax, jnp, nesting: tuple[str, ...], f: Fun) -> Fun:
    for transform in reversed(nesting):
        f = TRANSFORMS[transform](jax, jnp, f)
    return f


def refused(name: str, nesting: tuple[str, ...]) -> tuple[type[Exception], str] | None:
    """Return jax's error for this nesting and a pattern of its text; None if it has an answer.

    The trip count of a `while_loop` is not known beforehand, so jax has no reverse mode for it; and
    `custom_vjp` gives a rule for reverse mode only, which a `jvp` that meets it first can't use.
    """
    if name == "while_loop" and "grad" in nesting:
        return ValueError, "(?i)while"
    innermost = next((t for t in reversed(nesting) if t in ("jvp", "grad")), None)
    if name == "custom_vjp" and innermost == "jvp":
        return TypeError, "custom_vjp"
    return None
