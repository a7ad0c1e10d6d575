"""Functions that make arrays, of literals or like others; of dtypes; and those of index tricks."""

from __future__ import annotations

from tests.grid.draw import Grid, named
from tests.grid.play import Drawer, Entry

SIZES = ["3", "(2, 3)", "()", "(0, 2)", "[2]", "(1,)", "-1", "2.5", "(2, -1)", "np.int64(2)"]
VALUES = [
    "1",
    "0.5",
    "-2",
    "True",
    "1j",
    "jnp.nan",
    "jnp.array([1., 2., 3.])",
    "[1, 2, 3]",
    "300",
    "np.int8(3)",
]
DTYPES = [
    "'float32'",
    "jnp.int8",
    "int",
    "float",
    "complex",
    "bool",
    "'bfloat16'",
    "'uint8'",
    "np.float16",
]
DTYPES += ["'int4'", "jnp.float8_e5m2", "'float64'", "np.int64", "'nonsense'", "None", "object"]


def dtype_words(g: Grid, percent: int = 40) -> str:
    return g.words(percent, dtype=DTYPES)


def made(g: Grid, name: str) -> str:
    """Of a shape."""
    fill = f", {g.pick(*VALUES)}" if name.endswith("full") else ""
    return f"{name}({g.pick(*SIZES)}{fill}{dtype_words(g)})"


def made_like(g: Grid, name: str) -> str:
    a = g.operand(g.shape(), g.dtype())
    fill = f", {g.pick(*VALUES[:6], '300')}" if "full" in name else ""
    return f"{name}({a}{fill}{dtype_words(g, 30)}{g.words(25, shape=SIZES)})"


def from_data(g: Grid, name: str) -> str:
    """Of anything that is like an array."""
    literal = [
        "[1, 2]",
        "[[1., 2], [3, 4]]",
        "3",
        "2.5",
        "[True]",
        "1j",
        "[]",
        "[1, 2.5, 1j]",
        "None",
    ]
    literal += [
        "np.arange(3, dtype='int8')",
        "(1, (2,))",
        "'text'",
        "[[1, 2], [3]]",
        "np.float64(2)",
    ]
    literal += [
        "[jnp.ones(2), jnp.zeros(2)]",
        "2**40",
        "range(3)",
        "[np.int8(1), 2]",
        "[2**31]",
        "-2**31",
    ]
    data = g.pick(*literal) if g.chance(60) else g.operand(g.shape(), g.dtype())
    words = dtype_words(g)
    if name.endswith(".array"):
        words += g.words(15, copy=["True", "False"], ndmin=["0", "2"], order=["'K'", "'C'", "'F'"])
    elif name.endswith("asarray"):
        words += g.words(15, copy=["True", "False"])
    return f"{name}({data}{words})"


def cast(g: Grid, name: str) -> str:
    a = g.operand(g.shape(), g.dtype(), "normal", "few", "edges")
    return f"{name}({a}, {g.pick(*DTYPES)}{g.words(15, copy=['True'])})"


def scalar_type(g: Grid, name: str) -> str:
    values = ["1", "2.5", "True", "-1", "300", "jnp.nan", "[1, 2]", "1j"]
    if g.chance(50):
        return f"{name}({g.operand(g.shape(), g.dtype(), 'normal', 'few')})"
    return f"{name}({g.pick(*values)})"


def ranges(g: Grid, name: str) -> str:
    numbers = ["0", "1", "3", "-2", "2.5", "5", "0.1", "jnp.int8(2)", "np.float32(1.5)"]
    count = g.integer(1, 3)
    steps = [g.pick(*numbers) for _ in range(count)]
    if count == 3 and g.chance(70):
        steps[2] = g.pick("1", "2", "-1", "0.5", "0")
    return f"{name}({', '.join(steps)}{dtype_words(g, 25)})"


def spaces(g: Grid, name: str) -> str:
    numbers = ["0", "1", "3", "-2", "2.5", "5", "jnp.array([1., 2.])", "1j", "[1, 2]"]
    if name.endswith("geomspace"):
        numbers = ["1", "3", "2.5", "100", "0.5", "jnp.array([1., 2.])", "1j"]
    words = g.words(70, num=["3", "5", "1", "0", "-1"]) + g.words(30, endpoint=["False", "True"])
    words += g.words(20, axis=["0", "-1", "1"])
    if name.endswith("linspace"):
        words += g.words(20, retstep=["True"])
    if name.endswith("logspace"):
        words += g.words(20, base=["2", "2.5"])
    return f"{name}({g.pick(*numbers)}, {g.pick(*numbers)}{words}{dtype_words(g, 20)})"


def codes(*options: str) -> Drawer:
    """One of some calls; no operands."""

    def drawer(g: Grid, name: str) -> str:
        return f"{name}({g.pick(*options)})"

    return drawer


def grids(g: Grid, name: str) -> str:
    parts = [g.operand(g.shape(0, 1), g.dtype("bifc")) for _ in range(g.integer(0, 3))]
    words = g.words(indexing=["'ij'", "'xy'", "'x'"], sparse=["True", "False"])
    return f"{name}({', '.join(parts)}{words if parts else words.removeprefix(', ')})"


def two_dtypes(g: Grid, name: str) -> str:
    names = [
        *DTYPES,
        "jnp.floating",
        "np.integer",
        "jnp.inexact",
        "jnp.number",
        "np.generic",
        "jnp.bfloat16",
    ]
    if name.endswith("promote_types"):
        names = DTYPES
    return f"{name}({g.pick(*names)}, {g.pick(*names)})"


def resulting(g: Grid, name: str) -> str:
    parts = [g.operand((), g.dtype()) for _ in range(g.integer(1, 2))]
    more = g.pick("", "", ", 1", ", 2.5", ", 'float16'", ", jnp.int8")
    return f"{name}({', '.join(parts)}{more})"


TRICKS = {
    "jnp.c_": ["jnp.c_[a, a]", "jnp.c_[1:3, a]", "jnp.c_['r', a, a]"],
    "jnp.r_": ["jnp.r_[a, 1, 2]", "jnp.r_[0:3]", "jnp.r_[0:1:3j, a]", "jnp.r_['0,2', a, a]"],
    "jnp.s_": ["a[jnp.s_[1:]]", "a[jnp.s_[::-1]]", "a[jnp.s_[..., 0]]"],
    "jnp.index_exp": ["a[jnp.index_exp[1:]]", "a[jnp.index_exp[::-1, ]]"],
    "jnp.mgrid": ["jnp.mgrid[0:3, 1:4:2]", "jnp.mgrid[0:1:3j]", "jnp.mgrid[0:3:0.5]"],
    "jnp.ogrid": ["jnp.ogrid[0:3, 1:4:2]", "jnp.ogrid[0:1:3j]", "jnp.ogrid[0:2, 0:1:3j]"],
}


def trick(g: Grid, name: str) -> str:
    g.array((3,), g.dtype("bifc"), "normal")
    return g.pick(*TRICKS[name])


def mapped(g: Grid, name: str) -> str:
    """Functions of functions."""
    g.array((3,), g.dtype("if"), "normal")
    return g.pick(
        *{
            "jnp.vectorize": [
                "jnp.vectorize(lambda x: x + 1)(a)",
                "jnp.vectorize(jnp.dot, signature='(n),(n)->()')(jnp.stack([a, a]), a)",
                "jnp.vectorize(lambda x, k: x * k, excluded={1})(a, 2)",
                "jnp.vectorize(jnp.dot, signature='(n),(n)->()')(a, a[:2])",
                "jnp.vectorize(lambda x: x, signature='(n)->(m)')(a)",
            ],
            "jnp.fromfunction": [
                "jnp.fromfunction(lambda i, j: i + j, (2, 3))",
                "jnp.fromfunction(lambda i: i * 2, (3,), dtype=int)",
                "jnp.fromfunction(jnp.add, (2, 2), dtype='int8')",
            ],
            "jnp.frompyfunc": [
                "jnp.frompyfunc(lambda x, y: x * y, 2, 1)(a, a)",
                "jnp.frompyfunc(lambda x, y: x + y, 2, 1, identity=0).reduce(a)",
                "jnp.frompyfunc(lambda x, y: x + y, 2, 1).accumulate(a)",
            ],
        }[name]
    )


LIKE = "zeros_like ones_like empty_like full_like"
SCALARS = """bool_ int_ uint int4 int8 int16 int32 int64 uint4 uint8 uint16 uint32 uint64 int2 uint2 float16 bfloat16
float32 float64 float_ single double complex64 complex128 complex_ csingle cdouble float8_e4m3fn
float8_e5m2 float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu
float4_e2m1fn bool"""
TABLE: dict[str, Entry] = {
    **dict.fromkeys(named("zeros ones full"), Entry(made)),
    "jnp.empty": Entry(made, wide=False),
    **dict.fromkeys(named(LIKE), Entry(made_like, smooth=False)),
    **dict.fromkeys(["jnp.array", "jnp.asarray"], Entry(from_data)),
    "jnp.astype": Entry(cast, smooth=False, wide=False),
    **dict.fromkeys(named(SCALARS), Entry(scalar_type, smooth=False, wide=False)),
    "jnp.arange": Entry(ranges),
    **dict.fromkeys(["jnp.linspace", "jnp.logspace", "jnp.geomspace"], Entry(spaces, slack=16)),
    "jnp.eye": Entry(
        codes(
            "3", "2, 3", "3, k=1", "2, 3, -1", "0", "-1", "2, dtype=int", "2, dtype='bool'", "2.5"
        )
    ),
    "jnp.identity": Entry(codes("3", "0", "2, dtype='int8'", "-1", "2, float")),
    "jnp.tri": Entry(
        codes("3", "2, 3", "3, k=1", "2, 3, -1", "0", "2, dtype=int", "2, 3, 5", "-1")
    ),
    **dict.fromkeys(
        ["jnp.tril_indices", "jnp.triu_indices"],
        Entry(
            codes("3", "2, 1", "3, -1, 4", "0", "2, m=3", "-1"),
            more="of negative lengths, as NumPy",
        ),
    ),
    "jnp.diag_indices": Entry(codes("3", "2, 3", "0", "2, ndim=1", "-1")),
    "jnp.mask_indices": Entry(
        codes("3, jnp.triu", "3, jnp.tril, -1", "3, jnp.triu, size=4", "0, jnp.triu")
    ),
    "jnp.indices": Entry(
        codes(
            "(2, 3)",
            "(2, 3), sparse=True",
            "(2,), dtype=float",
            "()",
            "(0, 2)",
            "(2, 3), 'int8', True",
        )
    ),
    "jnp.broadcast_shapes": Entry(
        codes("(2, 3), (3,)", "(2, 1), (1, 3)", "()", "(2,), (3,)", "3, (2, 1)", "(-1,)"),
        wide=False,
    ),
    "jnp.meshgrid": Entry(grids, more="of numbers, as NumPy"),
    **dict.fromkeys(
        ["jnp.promote_types", "jnp.issubdtype"], Entry(two_dtypes, smooth=False, wide=False)
    ),
    "jnp.can_cast": Entry(
        codes(
            "'int8', 'int32'",
            "float, 'float32'",
            "'int32', 'float32'",
            "int, bool, 'unsafe'",
            "jnp.bfloat16, 'float32'",
        ),
        wide=False,
    ),
    "jnp.isdtype": Entry(
        codes(
            "'float32', 'real floating'",
            "jnp.int8, ('integral', 'bool')",
            "jnp.bool_, 'bool'",
            "'complex64', 'numeric'",
            "jnp.bfloat16, 'real floating'",
            "'float32', 'nonsense'",
            "int, 'signed integer'",
            "'uint8', jnp.uint8",
        ),
        wide=False,
    ),
    "jnp.dtype": Entry(
        codes("'int8'", "float", "jnp.bfloat16", "'nonsense'", "jnp.float32"), wide=False
    ),
    "jnp.result_type": Entry(resulting, smooth=False, wide=False, vmap=False),
    "jnp.frombuffer": Entry(
        codes(
            "b'\\0\\1\\2\\3', dtype='uint8'",
            "b'\\0' * 8",
            "b'\\0' * 8, 'int32', 1, 4",
            "b'abc', 'int32'",
        ),
        wide=False,
    ),
    "jnp.fromstring": Entry(
        codes("'1 2 3', sep=' '", "'1,2', dtype=int, sep=','", "'1 2', count=1, sep=' '")
    ),
    "jnp.fromfile": Entry(codes("'x'"), wide=False),
    "jnp.fromiter": Entry(codes("[1], int"), wide=False),
    **dict.fromkeys(TRICKS, Entry(trick, smooth=False)),
    **dict.fromkeys(
        ["jnp.vectorize", "jnp.fromfunction", "jnp.frompyfunc"], Entry(mapped, wide=False)
    ),
}
