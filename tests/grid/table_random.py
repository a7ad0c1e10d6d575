"""random on the grid: samplers over parameters, shapes and dtypes; the draws are JAX's."""

from __future__ import annotations

from tests.grid.draw import Grid, named
from tests.grid.play import Drawer, Entry

SHAPES = ["(2, 3)", "()", "(3,)", "(0,)", "(2, 0)", "None", "3", "(-1,)", "(1, 1)"]
SIZES = ["(2, 3)", "()", "(3,)", "(0,)"]
PARAMETERS = {
    "bernoulli": ("chance",),
    "beta": ("positive", "positive"),
    "binomial": ("trials", "chance"),
    "chisquare": ("positive",),
    "f": ("positive", "positive"),
    "gamma": ("positive",),
    "geometric": ("chance",),
    "loggamma": ("positive",),
    "lognormal": ("positive",),
    "pareto": ("positive",),
    "poisson": ("positive",),
    "rayleigh": ("positive",),
    "t": ("positive",),
    "truncated_normal": ("low", "high"),
    "wald": ("positive",),
    "weibull_min": ("positive", "positive"),
    "double_sided_maxwell": ("positive", "positive"),
    "generalized_normal": ("positive",),
    "triangular": ("low", "middle", "high"),
}
KINDS = {
    "chance": "within:0:1",
    "positive": "positive",
    "trials": "index:1:9",
    "low": "within:-3:-1",
    "middle": "within:-0.5:0.5",
    "high": "within:1:3",
}


def key(g: Grid) -> str:
    return f"random.key({g.integer(0, 9)}{g.words(6, impl=['rbg', 'unsafe_rbg'])})".replace(
        "impl=rbg", "impl='rbg'"
    ).replace("impl=unsafe_rbg", "impl='unsafe_rbg'")


def _dtype(g: Grid, kinds: str) -> str:
    return g.words(50, dtype=lambda: g.name_of(g.dtype(kinds)))


def plain(kinds: str) -> Drawer:
    """A key, a shape and a dtype."""

    def drawer(g: Grid, name: str) -> str:
        return f"{name}({key(g)}{g.words(70, shape=SHAPES)}{_dtype(g, kinds)})"

    return drawer


def sampler(g: Grid, name: str) -> str:
    """Parameters that broadcast with each other, and a shape that they fit, mostly."""
    word = name.partition(".")[2]
    shape = g.pick((), (3,), (2, 1))
    given = []
    for parameter in PARAMETERS[word]:
        dtype = g.dtype("i" if parameter == "trials" else "fffi")
        given.append(g.operand(g.pick(shape, ()), dtype, KINDS[parameter]))
    words = g.words(50, shape=[*SIZES, "(2, 3)"])
    if word != "bernoulli":
        words += _dtype(g, "fffi")
    return f"{name}({key(g)}, {', '.join(given)}{words})"


def integers(g: Grid, name: str) -> str:
    low, high = g.pick(("0", "9"), ("-5", "5"), ("3", "3"), ("9", "0"), ("-300", "300"))
    if g.chance(30):
        high = g.operand(g.shape(0, 1), g.dtype("i"), "index:1:9")
    return f"{name}({key(g)}, {g.pick(*SIZES)}, {low}, {high}{_dtype(g, 'iiif')})"


def chosen(g: Grid, name: str) -> str:
    a = g.operand(g.shape(0, 2), g.dtype(), "normal") if g.usually(75) else g.pick("5", "0", "1")
    words = g.words(50, shape=SIZES, replace=["False", "True"])
    if g.chance(25):
        words += f", p={g.array((3,), 'float32', 'positive')}"
    rank = len(g.shape_of(a)) if a.isalpha() else 1
    words += g.words(20, axis=[str(k) for k in range(-rank - 1, rank + 1)])
    return f"{name}({key(g)}, {a}{words})"


def permuted(g: Grid, name: str) -> str:
    a = g.operand(g.shape(0, 2), g.dtype(), "normal") if g.usually(75) else g.pick("5", "0")
    axis = g.words(40, axis=lambda: g.axis(a)) if a.isalpha() else ""
    return f"{name}({key(g)}, {a}{axis}{g.words(20, independent=['True', 'False'])})"


def categorical(g: Grid, name: str) -> str:
    a = g.operand(g.shape(1), g.dtype("fffi"), "normal")
    words = g.words(40, axis=lambda: g.axis(a), shape=["(2, 3)", "(3,)", "()"])
    return f"{name}({key(g)}, {a}{words}{g.words(20, replace=['False'])})"


def keys(g: Grid, name: str) -> str:
    number = g.pick("2", "(2, 3)", "0", "3") if name.endswith("split") else g.pick("1", "-1", "7")
    call = f"{name}({key(g)}, {number})"
    return f"random.key_data({call})"


def made(g: Grid, name: str) -> str:
    seed = g.pick("0", "-1", "2**31", "2**40", "1.5", "True", "np.int64(7)", "jnp.int32(3)")
    made_key = f"{name}({seed}{g.words(20, impl=[repr('rbg'), repr('threefry2x32'), repr('x')])})"
    return f"random.key_data({made_key})" if name.endswith(".key") else made_key


def dirichlet(g: Grid, name: str) -> str:
    a = g.operand(g.pick((3,), (2, 3), (1,), ()), g.dtype("f"), "positive")
    return f"{name}({key(g)}, {a}{g.words(40, shape=['(2,)', '()', '(4, 2)'])}{_dtype(g, 'f')})"


def gaussian(g: Grid, name: str) -> str:
    n = g.integer(1, 3)
    dtype = g.dtype("f")
    mean = g.array((*g.pick((), (), (2,)), n), dtype, "normal")
    cov = g.array((n, n), dtype, "definite")
    words = g.words(40, shape=["(2,)", "()", "(4, 2)"], method=["'eigh'", "'svd'", "'cholesky'"])
    return f"{name}({key(g)}, {mean}, {cov}{words})"


def of_sizes(g: Grid, name: str) -> str:
    word = name.partition(".")[2]
    size = g.pick("2", "3", "1", "0")
    words = g.words(40, shape=["(2,)", "()", "(4, 2)"])
    if word == "multinomial":
        p = g.array((3,), g.dtype("f"), "positive")
        return f"{name}({key(g)}, {g.pick('5', '0', '9.0')}, {p} / jnp.sum({p}){words})"
    if word == "orthogonal":
        words += g.words(20, m=["2", "4"])
    elif g.chance(30):
        words += g.words(80, p=["1.0", "3", "4.0"])
    return f"{name}({key(g)}, {size}{words}{_dtype(g, 'f')})"


def words_of(g: Grid, name: str) -> str:
    return f"{name}({key(g)})"


def wrapped(g: Grid, name: str) -> str:
    a = g.array(g.pick((2,), (3, 2), (4,), (0, 2)), g.pick("uint32", "uint32", "int32"), "few")
    return f"random.key_data({name}({a}{g.words(20, impl=[repr('rbg'), repr('threefry2x32')])}))"


DRAWS = Entry(sampler, wide=False, slack=30, smooth=False, vmap=False)

TABLE = {
    **dict.fromkeys(
        named("cauchy exponential gumbel laplace logistic maxwell normal uniform", "random"),
        DRAWS._replace(draw=plain("fffci")),
    ),
    **dict.fromkeys(named(" ".join(PARAMETERS), "random"), DRAWS),
    "random.weibull_min": DRAWS._replace(less="a draw would serve several parameters"),
    "random.bits": DRAWS._replace(draw=plain("iiif")),
    "random.rademacher": DRAWS._replace(draw=plain("iifc")),
    "random.randint": DRAWS._replace(draw=integers),
    "random.choice": DRAWS._replace(draw=chosen),
    "random.permutation": DRAWS._replace(draw=permuted),
    "random.categorical": DRAWS._replace(draw=categorical),
    **dict.fromkeys(named("split fold_in", "random"), DRAWS._replace(draw=keys)),
    **dict.fromkeys(named("key PRNGKey", "random"), DRAWS._replace(draw=made)),
    "random.key_data": DRAWS._replace(draw=words_of),
    "random.wrap_key_data": DRAWS._replace(draw=wrapped),
    "random.dirichlet": DRAWS._replace(draw=dirichlet),
    "random.multivariate_normal": DRAWS._replace(draw=gaussian, slack=300),
    **dict.fromkeys(
        named("ball orthogonal multinomial", "random"), DRAWS._replace(draw=of_sizes, slack=300)
    ),
}
