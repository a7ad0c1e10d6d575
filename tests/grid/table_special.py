"""scipy.special on the grid: poles, edges, asymptotic ranges, integers and small floats."""

from __future__ import annotations

from tests.grid.draw import Grid
from tests.grid.play import Entry

NEAR = ("within:-4:4", "within:-30:30")
EDGES = "among:nan:inf:-inf:0:-0.0:1:-1:0.5:-0.5:2"
FINITE = "among:nan:0:-0.0:1:-1:0.5:-0.5:2"
POLES = "among:-3:-2:-1:0:1:2:3:-2.5:1e-30:-1e-30"
FAR = "among:1e-8:-1e-8:1e4:-1e4:80:-80:1e30:-1e30"
ORDERS = "within:0:6"


def _operand(g: Grid, shape: tuple[int, ...], dtype: str, *kinds: str) -> str:
    """In any form, except that with 64 bits nothing narrower is weakly typed."""
    return g.array(shape, dtype, *kinds) if g.x64 else g.operand(shape, dtype, *kinds)


def wide(g: Grid, name: str) -> str:
    """Of what JAX takes where it takes no small floats."""
    dtype = g.pick("float32", "float32", "int32", *(("float64",) if g.x64 else ()))
    # At infinity spence is -inf; JAX and SciPy say NaN.
    edges = FINITE if name.endswith("spence") else EDGES
    return f"{name}({g.array(g.shape(), dtype, *NEAR, edges, POLES, FAR)})"


def one(g: Grid, name: str) -> str:
    """Of one number, of any size."""
    return f"{name}({_operand(g, g.shape(), g.dtype('fffi8b'), *NEAR, EDGES, POLES, FAR)})"


def complex_too(g: Grid, name: str) -> str:
    return f"{name}({_operand(g, g.shape(), g.dtype('fcfci'), 'within:-4:4', 'unit')})"


def any_number(g: Grid, name: str) -> str:
    return complex_too(g, name) if g.chance(30) else one(g, name)


def two(g: Grid, name: str) -> str:
    """Of two that broadcast and promote."""
    left, right = g.broadcast()
    dtype = g.dtype("fffi")
    other = dtype if g.usually(80) else g.dtype("fi")
    kinds = ("positive", "positive", "within:0:30", "within:-4:4", EDGES, POLES)
    return f"{name}({_operand(g, left, dtype, *kinds)}, {_operand(g, right, other, *kinds)})"


def choices(g: Grid, name: str) -> str:
    """Never as many as there are to choose from: there `comb` falls to 0."""
    left, right = g.broadcast()
    dtype = g.dtype("fffi")
    other = dtype if g.usually(80) else g.dtype("fi")
    a = _operand(g, left, dtype, "positive", "within:0:30", EDGES, POLES)
    return f"{name}({a}, {_operand(g, right, other, 'within:0.1:4', EDGES, POLES)})"


def precise(g: Grid, name: str) -> str:
    """Of the widest floats there are: to others JAX's `owens_t` gives a dtype of constants'."""
    left, right = g.broadcast()
    dtype = "float64" if g.x64 else "float32"
    kinds = ("positive", "positive", "within:0:30", "within:-4:4", EDGES, POLES)
    return f"{name}({g.array(left, dtype, *kinds)}, {g.array(right, dtype, *kinds)})"


def ordered(g: Grid, name: str) -> str:
    """A whole order and a number."""
    left, right = g.broadcast()
    dtype = g.dtype("f")
    a = g.array(left, dtype if g.chance(50) else "int32", "few", "index:0:6")
    return f"{name}({a}, {g.array(right, dtype, 'positive', 'within:0:30', EDGES)})"


def incomplete(g: Grid, name: str) -> str:
    """Two positive parameters and a part of the unit interval."""
    left, right = g.broadcast()
    dtype = g.dtype("f")
    kinds = ("positive", "positive", "within:0:30", EDGES)
    a, b = _operand(g, left, dtype, *kinds), _operand(g, right, dtype, *kinds)
    return f"{name}({a}, {b}, {_operand(g, left, dtype, 'within:0:1', 'within:0:1', EDGES)})"


def confluent(g: Grid, name: str) -> str:
    left, right = g.broadcast()
    dtype = g.dtype("f")
    a, b = (
        _operand(g, left, dtype, "positive", "within:-4:4"),
        _operand(g, right, dtype, "positive"),
    )
    return f"{name}({a}, {b}, {_operand(g, left, dtype, 'unit', *NEAR)})"


def hypergeometric(g: Grid, name: str) -> str:
    dtype = g.dtype("f")
    a, b, c = (g.array((3,), dtype, "positive", "within:-4:4") for _ in range(3))
    return f"{name}({a}, {b}, {c}, {g.array((3,), dtype, 'unit', 'within:-4:1')})"


def folded(g: Grid, name: str) -> str:
    a = _operand(g, g.shape(1), g.dtype("fffci"), "normal", EDGES, "within:-30:30")
    if not name.endswith("logsumexp"):
        return f"{name}({a}, axis={g.axis(a)})"
    signed = ["True", "False"]
    words = g.words(keepdims=signed, return_sign=signed, b=["2.0", "-1.5", "3"])
    return f"{name}({a}, axis={g.axes(a)}{words})"


def bernoulli(g: Grid, name: str) -> str:
    return f"{name}({g.pick(0, 1, 2, 3, 10, 20, -1, 2.5)})"


def multigammaln(g: Grid, name: str) -> str:
    return f"{name}({_operand(g, g.shape(), g.dtype('ffi'), 'within:3:40')}, {g.pick(1, 2, 3, 5)})"


def bessel_jn(g: Grid, name: str) -> str:
    a = _operand(g, (3,), g.dtype("f"), "within:4:20")
    return f"{name}({a}, v={g.integer(0, 4)}{g.words(n_iter=['50', '60'])})"


def harmonics(g: Grid, name: str) -> str:
    n, m = g.integer(0, 5), g.integer(-5, 5)
    dtype = "float64" if g.x64 else "float32"
    theta, phi = g.array((3,), dtype, "positive"), g.array((3,), dtype, "positive")
    return f"{name}(jnp.array([{n}] * 3), jnp.array([{m}] * 3), {theta}, {phi})"


def _all(names: str, entry: Entry) -> dict[str, Entry]:
    return {f"jsp.special.{name}": entry for name in names.split()}


TABLE = {
    **_all(
        "dawsn digamma entr erf erfc erfcx erfinv exp1 expi factorial "
        "fresnel gammaln gammasgn i0 i0e i1 i1e sici",
        Entry(one, slack=30, either=True),
    ),
    **_all("expit gamma logit", Entry(any_number, slack=30, either=True)),
    **_all(
        "log_ndtr ndtr ndtri spence",
        Entry(
            wide, slack=30, either=True, more="JAX takes no integers, effax makes floats of them"
        ),
    ),
    **_all("loggamma wofz", Entry(complex_too, slack=100, either=True)),
    **_all(
        "beta betaln boxcox boxcox1p gammainc gammaincc kl_div poch rel_entr xlog1py xlogy",
        Entry(two, slack=100, either=True, underived=True),
    ),
    **_all("comb", Entry(choices, slack=100, either=True, underived=True)),
    **_all("owens_t", Entry(precise, slack=100, either=True)),
    **_all("expn polygamma zeta", Entry(ordered, slack=100, either=True, underived=True)),
    **_all("betainc", Entry(incomplete, slack=200, either=True, underived=True)),
    **_all("hyp1f1", Entry(confluent, slack=200, either=True, smooth=False)),
    **_all("hyp2f1", Entry(hypergeometric, slack=1000, either=True, smooth=False)),
    **_all("logsumexp softmax log_softmax", Entry(folded, slack=4)),
    **_all("bernoulli", Entry(bernoulli, either=True)),
    **_all("multigammaln", Entry(multigammaln, slack=10, either=True)),
    **_all("bessel_jn", Entry(bessel_jn, slack=100, underived=True)),
    # Where abs(m) > n it is 0; JAX says something else.
    **_all("sph_harm_y", Entry(harmonics, slack=30, either=True)),
}
