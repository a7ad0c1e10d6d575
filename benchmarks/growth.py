"""Programs of growing size, for curves.py: what tracing, differentiating and lowering them costs."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from benchmarks import models


class Curve(NamedTuple):
    """One line: `make(jax, jnp, np, n)` gives the call that is timed, of `n` units."""

    make: Callable[[Any, Any, Any, int], Callable[[], Any]]
    title: str
    unit: str
    sizes: Sequence[int]


CURVES: dict[str, Curve] = {}


def curve(title: str, unit: str, *sizes: int) -> Callable[[Callable], Callable]:
    def register(make: Callable) -> Callable:
        CURVES[make.__name__] = Curve(make, title, unit, sizes)
        return make

    return register


def lowering(jax: Any, f: Callable, *args: Any) -> Callable[[], Any]:
    """Tracing and lowering a function that is new each time."""
    return lambda: jax.jit(lambda *xs: f(*xs)).lower(*args)


EQUATIONS = (100, 300, 1000, 3000, 10000)


@curve("n equations, staged", "equation", *EQUATIONS)
def stage_chain(jax, jnp, np, n):
    f, x = models.chain(jax, n), jnp.linspace(0.5, 1.0, 8)
    return lambda: jax.make_jaxpr(lambda x: f(x))(x)


@curve("n equations, gradient staged", "equation", *EQUATIONS)
def grad_chain(jax, jnp, np, n):
    f, x = models.chain(jax, n), jnp.linspace(0.5, 1.0, 8)
    return lambda: jax.make_jaxpr(jax.grad(lambda x: jnp.sum(f(x))))(x)


@curve("n equations, staged and lowered", "equation", *EQUATIONS)
def lower_chain(jax, jnp, np, n):
    return lowering(jax, models.chain(jax, n), jnp.linspace(0.5, 1.0, 8))


@curve("one array used n times, gradient lowered", "use", *EQUATIONS)
def grad_fan(jax, jnp, np, n):
    def f(x):
        total = x
        for i in range(n // 2):
            total = total + x * float(i)
        return jnp.sum(total)

    return lowering(jax, jax.grad(f), jnp.linspace(0.5, 1.0, 8))


@curve("n arrays of which all are used at the end, gradient lowered", "array", *EQUATIONS[:-1])
def grad_wide(jax, jnp, np, n):
    def f(x):
        return jnp.sum(jnp.concatenate([jnp.sin(x) * float(i) for i in range(n)]))

    return lowering(jax, jax.grad(f), jnp.linspace(0.5, 1.0, 8))


@curve("n arrays closed over, lowered", "array", 10, 30, 100, 300, 1000)
def closure(jax, jnp, np, n):
    arrays = [jnp.full(3, float(i)) for i in range(n)]

    def f(x):
        for a in arrays:
            x = x + a
        return x

    return lowering(jax, f, jnp.ones(3))


@curve("n arrays closed over in a scan, gradient lowered", "array", 10, 30, 100, 300, 1000)
def closure_scan_grad(jax, jnp, np, n):
    arrays = [jnp.full(3, float(i)) for i in range(n)]

    def step(c, x):
        for a in arrays:
            c = c * a + x
        return c, None

    def f(x):
        return jnp.sum(jax.lax.scan(step, x, jnp.ones((4, 3)))[0])

    return lowering(jax, jax.grad(f), jnp.ones(3))


def leaves(jnp, n):
    return {f"w{i}": [jnp.full(3, float(i))] for i in range(n)}


@curve("a tree of n leaves, lowered", "leaf", 10, 30, 100, 300, 1000)
def tree_lower(jax, jnp, np, n):
    return lowering(jax, lambda t: jax.tree.map(lambda x: x * 2.0, t), leaves(jnp, n))


@curve("a tree of n leaves, gradient lowered", "leaf", 10, 30, 100, 300, 1000)
def tree_grad(jax, jnp, np, n):
    def f(tree):
        return sum(jnp.sum(x * x) for x in jax.tree.leaves(tree))

    return lowering(jax, jax.grad(f), leaves(jnp, n))


@curve("a compiled function called with a tree of n leaves", "leaf", 10, 30, 100, 300, 1000)
def tree_call(jax, jnp, np, n):
    f, tree = jax.jit(lambda t: jax.tree.map(lambda x: x * 2.0, t)), leaves(jnp, n)
    f(tree)

    def call():
        for _ in range(20):
            f(tree)

    return call


def scans(jax, jnp, depth):
    def f(x):
        return jnp.sin(x)

    for _ in range(depth):

        def f(x, inner=f):
            return jax.lax.scan(lambda c, _: (inner(c) * 1.5, None), x, None, length=2)[0]

    return f


def conds(jax, jnp, depth):
    def f(x):
        return jnp.sin(x)

    for _ in range(depth):

        def f(x, inner=f):
            return jax.lax.cond(x > 0, lambda x: inner(x) * 1.5, lambda x: x + 1.0, x)

    return f


def calls(jax, jnp, depth):
    def f(x):
        return jnp.sin(x)

    for _ in range(depth):

        def f(x, inner=f):
            return jax.jit(lambda x: inner(x) * 1.5)(x)

    return f


def whiles(jax, jnp, depth):
    def f(x):
        return jnp.sin(x)

    for _ in range(depth):

        def f(x, inner=f):
            return jax.lax.while_loop(lambda s: s < 3.0, lambda s: inner(s) + 1.0, x)

    return f


DEPTHS = (2, 4, 8, 16, 32)


@curve("scans n deep, lowered", "level", *DEPTHS)
def scan_depth(jax, jnp, np, n):
    return lowering(jax, scans(jax, jnp, n), 0.5)


@curve("scans n deep, gradient lowered", "level", *DEPTHS)
def scan_depth_grad(jax, jnp, np, n):
    return lowering(jax, jax.grad(scans(jax, jnp, n)), 0.5)


@curve("scans n deep, vmap of gradient lowered", "level", *DEPTHS)
def scan_depth_vmap_grad(jax, jnp, np, n):
    return lowering(jax, jax.vmap(jax.grad(scans(jax, jnp, n))), jnp.ones(3))


@curve("branches n deep, lowered", "level", *DEPTHS)
def cond_depth(jax, jnp, np, n):
    return lowering(jax, conds(jax, jnp, n), 0.5)


@curve("branches n deep, gradient lowered", "level", *DEPTHS)
def cond_depth_grad(jax, jnp, np, n):
    return lowering(jax, jax.grad(conds(jax, jnp, n)), 0.5)


@curve("branches n deep, vmap of gradient lowered", "level", *DEPTHS)
def cond_depth_vmap_grad(jax, jnp, np, n):
    return lowering(jax, jax.vmap(jax.grad(conds(jax, jnp, n))), jnp.ones(3))


@curve("while loops n deep, jvp lowered", "level", *DEPTHS)
def while_depth_jvp(jax, jnp, np, n):
    f = whiles(jax, jnp, n)
    return lowering(jax, lambda x: jax.jvp(f, (x,), (x,)), 0.5)


@curve("jitted functions n deep, gradient lowered", "level", *DEPTHS)
def call_depth_grad(jax, jnp, np, n):
    def call():
        return jax.jit(jax.grad(calls(jax, jnp, n))).lower(0.5)

    return call


@curve("one jitted function called n times, gradient lowered", "call", 10, 30, 100, 300, 1000)
def repeated_calls(jax, jnp, np, n):
    def call():
        layer = jax.jit(lambda x: jnp.sin(x) * jnp.cos(x))

        def f(x):
            for _ in range(n):
                x = layer(x)
            return x

        return jax.jit(jax.grad(f)).lower(0.5)

    return call


@curve("vmap n times, lowered", "level", 1, 2, 4, 8, 16)
def vmap_depth(jax, jnp, np, n):
    def f(x):
        return jnp.sin(x) * x + jnp.cos(x)

    for _ in range(n):
        f = jax.vmap(f)
    return lowering(jax, f, jnp.ones((1,) * n))


@curve("jvp n times, lowered", "level", 1, 2, 3, 4, 5, 6)
def jvp_depth(jax, jnp, np, n):
    def f(x):
        return jnp.sin(x) * x

    for _ in range(n):

        def f(x, inner=f):
            return jax.jvp(inner, (x,), (1.0,))[1]

    return lowering(jax, f, 0.5)


@curve("grad n times, lowered", "level", 1, 2, 3, 4, 5, 6)
def grad_depth(jax, jnp, np, n):
    def f(x):
        return jnp.sin(x) * x

    for _ in range(n):
        f = jax.grad(f)
    return lowering(jax, f, 0.5)
