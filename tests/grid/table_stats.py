"""scipy.stats on the grid: all distributions, inside, at the ends of and outside their support."""

from __future__ import annotations

from tests.grid.draw import Grid
from tests.grid.play import Drawer, Entry

WHERE = {
    "line": ("within:-4:4", "within:-4:4", "within:-40:40", "among:nan:inf:-inf:0:-0.0:1:-1"),
    "finite": ("within:-4:4", "within:-4:4", "within:-40:40", "among:nan:0:-0.0:1:-1"),
    "half": ("positive", "positive", "within:0:40", "among:nan:inf:-inf:0:-0.0:1:-1"),
    "unit": ("within:0:1", "within:0:1", "among:nan:inf:-inf:0:-0.0:1:-1:2:0.5"),
    "counts": ("index:0:9", "index:0:9", "within:0:9", "among:nan:inf:-inf:0:-0.0:1:-1:2.5"),
    "angles": ("within:-3:3", "within:0:6", "among:nan:0:-0.0:1:-1"),
    "beyond": ("within:1:9", "positive", "among:nan:inf:1:0.5"),
}
PARAMETER = {
    "positive": ("positive", "positive", "positive", "among:0:-1:nan:inf:1:2"),
    "finite": ("positive", "positive", "positive", "among:0:-1:nan:1:2"),
    "chance": ("within:0:1", "within:0:1", "within:0:1", "among:0:1:-1:2:nan"),
    "trials": ("index:1:9", "index:1:9", "index:0:9"),
    "low": ("within:-3:0",),
    "high": ("within:0.5:3",),
}

# Where JAX and SciPy say NaN of a limit that effax knows (the density of Gumbel's at an infinity,
# or of infinite parameters), only finite numbers are drawn.


def _operand(g: Grid, shape: tuple[int, ...], dtype: str, *kinds: str) -> str:
    """An array, or NumPy's, or a Python scalar."""
    plain = dtype in ("float32", "int32") and not g.x64 and shape == ()
    return g.array(shape, dtype, *kinds, form=g.pick("array", "host", *(["scalar"] * plain)))


def distribution(where: str, *parameters: str, scale: bool = True) -> Drawer:
    """A function of a distribution: a point, its parameters, a place and perhaps a scale."""

    def drawer(g: Grid, name: str) -> str:
        quantile = name.endswith(("ppf", "isf"))
        left, right = g.broadcast()
        dtype = g.dtype("ffffi") if where != "counts" else g.dtype("iif")
        if ".norm." in name and not name.endswith("pdf"):  # JAX takes no small floats here
            dtype = "float64" if g.x64 else "float32"
        points = WHERE["unit" if quantile else where]
        call = [_operand(g, left, dtype, *points)]
        other = g.dtype("f") if g.chance(30) or not dtype.startswith("f") else dtype
        call += [_operand(g, right, other, *PARAMETER[p]) for p in parameters]
        place = (
            ["0.5", "-1.0", "2", "jnp.array([[1.0], [0.0]])"] if where != "counts" else ["1", "2"]
        )
        words = g.words(30, loc=place) if where == "counts" or dtype[0] in "fb" else ""
        if scale and dtype[0] in "fb":
            words += g.words(30, scale=["2.0", "0.5", "3"])
        return f"{name}({', '.join(call)}{words})"

    return drawer


def entropy(g: Grid, name: str) -> str:
    mu = g.operand(g.shape(), g.dtype("f"), "positive", "within:0:40", "among:0:1:100:nan:-1")
    return f"{name}({mu})"


def dirichlet(g: Grid, name: str) -> str:
    dtype = g.dtype("f")
    if dtype in ("float16", "bfloat16"):  # whether they sum to 1 hangs on one rounding
        dtype = "float32"
    n = g.integer(2, 4)
    a = g.array((n, *g.pick((), (), (2,))), dtype, "positive")
    b = g.array((g.pick(n, n, n, n - 1),), dtype, "positive")
    return f"{name}({a} / jnp.sum({a}, axis=0), {b})"


def gaussian(g: Grid, name: str) -> str:
    n = g.integer(1, 4)
    dtype = g.dtype("f")
    x = g.array((*g.pick((), (2,), (2, 3)), n), dtype, "normal")
    mean = g.pick(g.array((n,), dtype, "normal"), "0.0")
    cov = g.pick(g.array((n, n), dtype, "definite"), "2.0")
    return f"{name}({x}, {mean}, {cov}{g.words(10, allow_singular=['None', 'False'])})"


def multinomial(g: Grid, name: str) -> str:
    n = g.integer(1, 4)
    a = g.array((n,), "int32", "index:0:4")
    p = g.array((n,), g.dtype("f"), "positive")
    return f"{name}({a}, {g.pick(f'jnp.sum({a})', '5')}, {p} / jnp.sum({p}))"


def mode(g: Grid, name: str) -> str:
    a = g.operand(g.shape(1), g.dtype("bif"), "few", "normal")
    return f"{name}({a}{g.words(axis=lambda: g.axis(a), keepdims=['True', 'False'])})"


def rankdata(g: Grid, name: str) -> str:
    a = g.operand(g.shape(1), g.dtype("bif"), "few", "normal", "distinct")
    methods = ["'average'", "'min'", "'max'", "'dense'", "'ordinal'", "'middle'"]
    return f"{name}({a}{g.words(method=methods, axis=lambda: g.axis(a))})"


def sem(g: Grid, name: str) -> str:
    a = g.operand(g.shape(1), g.dtype("fffi"), "normal", "within:0:9")
    return f"{name}({a}{g.words(axis=lambda: g.axis(a), ddof=['0', '1', '2'])})"


def kernel(g: Grid, name: str) -> str:
    """A method of an estimate from so many points."""
    d, n = g.integer(1, 3), g.integer(5, 9)
    points = g.array((d, n) if d > 1 or g.chance(50) else (n,), g.dtype("f"), "normal", "distinct")
    words = g.words(bw_method=["'scott'", "'silverman'", "0.5"])
    at = g.array((d, 4), "float32", "normal")
    calls = [f"evaluate({at})", f"logpdf({at})", f"pdf({at})"]
    calls += ["covariance", "neff", "factor"] if False else ["covariance", "neff"]
    if d == 1:
        calls.append("integrate_box_1d(-1.0, 0.5)")
    calls.append(f"integrate_gaussian(jnp.zeros({d}), jnp.eye({d}))")
    return f"{name}({points}{words}).{g.pick(*calls)}"


_HALVES = "logpdf pdf cdf logcdf sf logsf"
DISTRIBUTIONS = {
    "bernoulli": ("logpmf pmf cdf ppf", distribution("counts", "chance", scale=False)),
    "beta": (_HALVES, distribution("unit", "positive", "positive")),
    "betabinom": (
        "logpmf pmf",
        distribution("counts", "trials", "finite", "finite", scale=False),
    ),
    "binom": ("logpmf pmf", distribution("counts", "trials", "chance", scale=False)),
    "cauchy": (f"{_HALVES} ppf isf", distribution("line")),
    "chi2": (_HALVES, distribution("half", "finite")),
    "expon": (f"{_HALVES} ppf", distribution("half")),
    "gamma": (_HALVES, distribution("half", "positive")),
    "gennorm": ("logpdf pdf cdf", distribution("line", "positive", scale=False)),
    "geom": ("logpmf pmf", distribution("counts", "chance", scale=False)),
    "gumbel_l": (f"{_HALVES} ppf", distribution("finite")),
    "gumbel_r": (f"{_HALVES} ppf", distribution("finite")),
    "laplace": ("logpdf pdf cdf", distribution("line")),
    "logistic": ("logpdf pdf cdf sf ppf isf", distribution("line")),
    "nbinom": ("logpmf pmf", distribution("counts", "trials", "chance", scale=False)),
    "norm": (f"{_HALVES} ppf isf", distribution("line")),
    "pareto": (f"{_HALVES} ppf", distribution("beyond", "positive")),
    "poisson": ("logpmf pmf cdf", distribution("counts", "positive", scale=False)),
    "t": ("logpdf pdf", distribution("line", "positive")),
    "truncnorm": (_HALVES, distribution("line", "low", "high")),
    "uniform": ("logpdf pdf cdf ppf", distribution("unit")),
    "vonmises": ("logpdf pdf", distribution("angles", "positive", scale=False)),
    "wrapcauchy": ("logpdf pdf", distribution("angles", "chance", scale=False)),
}
_CLOSE = Entry(None, slack=100, either=True, underived=True)

TABLE = {
    f"jsp.stats.{name}.{function}": _CLOSE._replace(draw=drawer)
    for name, (functions, drawer) in DISTRIBUTIONS.items()
    for function in functions.split()
}
for _name in TABLE:
    if ".truncnorm." in _name or _name.endswith(("norm.ppf", "norm.isf")):
        TABLE[_name] = _CLOSE._replace(draw=TABLE[_name].draw, more="JAX takes wide floats only")
for _names, _drawer in {
    "poisson.entropy": entropy,
    "dirichlet.logpdf dirichlet.pdf": dirichlet,
    "multivariate_normal.logpdf multivariate_normal.pdf": gaussian,
    "multinomial.logpmf multinomial.pmf": multinomial,
    "gaussian_kde": kernel,
}.items():
    TABLE |= {f"jsp.stats.{n}": _CLOSE._replace(draw=_drawer) for n in _names.split()}
for _name in ("logpdf", "pdf"):
    TABLE[f"jsp.stats.multivariate_normal.{_name}"] = _CLOSE._replace(
        draw=gaussian, less="a scalar mean is JAX's sign of one dimension, whatever the covariance"
    )
TABLE |= {"jsp.stats.mode": Entry(mode), "jsp.stats.rankdata": Entry(rankdata)}
TABLE |= {"jsp.stats.sem": Entry(sem, slack=10)}
