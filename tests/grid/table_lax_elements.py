"""lax on the grid: operators, conversions and choices, element by element. Nothing is promoted."""

from __future__ import annotations

from tests.grid.draw import Grid
from tests.grid.play import Drawer, Entry

KINDS = ("normal", "edges", "extreme", "within:-30:30")
POLES = "among:-3:-2:-1:0:1:2:3:-2.5:nan:inf:-inf"


def _operand(g: Grid, shape: tuple[int, ...], dtype: str, *kinds: str) -> str:
    """An array, NumPy's sometimes: Python's numbers are effax's to take where JAX's lax is not."""
    return g.array(shape, dtype, *kinds, form=g.pick("array", "array", "host"))


def unary(kinds: str, *values: str) -> Drawer:
    """Of some kinds of dtypes mostly."""

    def drawer(g: Grid, name: str) -> str:
        dtype = g.dtype(kinds) if g.usually(90) else g.dtype()
        return f"{name}({g.operand(g.shape(), dtype, *(values or KINDS))})"

    return drawer


def binary(kinds: str, *values: str) -> Drawer:
    """Two of one dtype; of shapes equal up to ones; seldom of two dtypes."""

    def drawer(g: Grid, name: str) -> str:
        dtype = g.dtype(kinds) if g.usually(90) else g.dtype()
        other = dtype if g.usually(95) else g.dtype("if")
        pairs = [
            ((2, 3), (2, 3)),
            ((3,), (3,)),
            ((), ()),
            ((2, 1), (1, 3)),
            ((2, 3), ()),
            ((0,), (0,)),
        ]
        left, right = g.pick(*pairs, ((3,), (2,)) if g.chance(20) else (3,) * 2 and ((3,), (3,)))
        kinds_ = values or KINDS
        return f"{name}({_operand(g, left, dtype, *kinds_)}, {_operand(g, right, other, *kinds_)})"

    return drawer


def shifted(g: Grid, name: str) -> str:
    """Beyond the width too."""
    dtype = g.dtype("i")
    a = g.array((3,), dtype, "normal", "extreme")
    return f"{name}({a}, {g.array((3,), dtype, 'index:0:9', 'index:0:70', 'normal')})"


def converted(g: Grid, name: str) -> str:
    a = g.operand(g.shape(), g.dtype(), *KINDS)
    return f"{name}({a}, {g.name_of(g.dtype())})"


def same_bits(g: Grid, name: str) -> str:
    a = g.array(g.pick((2, 2), (4,), (), (2, 4), (3, 8)), g.dtype("ifb8"), *KINDS)
    return f"{name}({a}, '{g.dtype('ifib8')}')"


def reduced_precision(g: Grid, name: str) -> str:
    a = g.operand(g.shape(), g.dtype("f"), *KINDS)
    return f"{name}({a}, {g.pick(1, 2, 4, 5, 8, 11, 0)}, {g.pick(0, 1, 3, 7, 10, 23, -1)})"


def integer_power(g: Grid, name: str) -> str:
    return (
        f"{name}({g.operand(g.shape(), g.dtype('ffci'), *KINDS)}, {g.pick(0, 1, 2, 3, 5, -1, -2)})"
    )


def power(g: Grid, name: str) -> str:
    dtype = g.dtype("fffc")
    a = g.array((3,), dtype, "positive", "normal", "edges")
    if g.chance(30):
        return f"{name}({a}, {g.pick(2, 3, -1, 0)})"
    return (
        f"{name}({a}, {g.array((3,), g.pick(dtype, dtype, 'int32'), 'few', 'positive', 'edges')})"
    )


def rounded(g: Grid, name: str) -> str:
    a = g.operand(g.shape(), g.dtype("fffi"), *KINDS, "among:0.5:1.5:2.5:-0.5:-1.5:-0.0")
    return (
        f"{name}({a}{g.words(rounding_method=['lax.RoundingMethod(0)', 'lax.RoundingMethod(1)'])})"
    )


def clamped(g: Grid, name: str) -> str:
    dtype = g.dtype()
    shape = g.shape()
    low, high = (_operand(g, g.pick(shape, ()), dtype, "normal", "edges") for _ in "ab")
    return f"{name}({low}, {g.array(shape, dtype, *KINDS)}, {high})"


def selected(g: Grid, name: str) -> str:
    dtype, shape = g.dtype(), g.shape()
    which = g.array(g.pick(shape, ()), g.pick("bool", "bool", "bool", "int32"), "normal")
    cases = [g.array(shape, dtype if g.usually(97) else "int8", *KINDS) for _ in "ab"]
    return f"{name}({which}, {', '.join(cases)})"


def chosen(g: Grid, name: str) -> str:
    dtype, shape = g.dtype(), g.shape()
    which = g.array(g.pick(shape, ()), g.pick("bool", "int32", "int32"), "normal", "few")
    cases = [g.array(shape, dtype, *KINDS) for _ in range(g.integer(1, 3))]
    return f"{name}({which}, {', '.join(cases)})"


def parts(g: Grid, name: str) -> str:
    dtype = g.pick("float32", "float32", "float64" if g.x64 else "float32", "float16")
    return f"{name}({g.array((3,), dtype, *KINDS)}, {g.array((3,), dtype, *KINDS)})"


def incomplete(g: Grid, name: str) -> str:
    dtype = g.dtype("f")
    a, b = (g.array((3,), dtype, "positive", "within:0:30", "edges") for _ in "ab")
    return f"{name}({a}, {b}, {g.array((3,), dtype, 'within:0:1', 'edges')})"


def _all(names: str, draw: Drawer, **how: object) -> dict[str, Entry]:
    entry = Entry(draw)._replace(**how)  # type: ignore[arg-type]
    return {f"lax.{name}": entry for name in names.split()}


POSITIVE = ("positive", "positive", "within:0:30", "edges", POLES)
TABLE = {
    **_all("neg sign abs square", unary("ifc"), signs=True),
    **_all("floor ceil", unary("f"), signs=True),
    **_all("is_finite", unary("f")),
    **_all("sqrt rsqrt cbrt exp exp2 expm1 log log1p logistic", unary("ffc"), slack=4),
    **_all("sin cos tan tanh asin acos atan sinh cosh asinh acosh atanh", unary("ffc"), slack=16),
    **_all("erf erfc erf_inv", unary("f", *KINDS, "unit"), slack=16),
    **_all("lgamma digamma bessel_i0e bessel_i1e", unary("f", *KINDS, POLES), slack=30),
    **_all("real imag conj", unary("cccf")),
    **_all("reciprocal", unary("fc"), slack=4),
    **_all("bitwise_not population_count clz", unary("ib")),
    **_all("stop_gradient dtype", unary("bifc8"), smooth=False),
    **_all("add sub mul", binary("ifc")),
    **_all("div", binary("iffc"), slack=8),
    **_all("rem", binary("iff"), slack=8),
    **_all("max min", binary("iffb")),
    **_all("nextafter", binary("f"), underived=True),
    **_all("atan2", binary("f"), slack=4),
    **_all("eq ne", binary("bifc8")),
    **_all("lt le gt ge", binary("bif8")),
    **_all("bitwise_and bitwise_or bitwise_xor", binary("ib")),
    **_all("mulhi", binary("i", "extreme", "normal")),
    **_all("shift_left shift_right_arithmetic shift_right_logical", shifted),
    **_all("igamma igammac zeta polygamma", binary("f", *POSITIVE), slack=200, underived=True),
    **_all("igamma_grad_a random_gamma_grad", binary("f", "positive"), slack=200, underived=True),
    **_all("betainc", incomplete, slack=200, underived=True),
    **_all("complex", parts),
    **_all("pow", power, slack=16),
    **_all("integer_pow", integer_power, slack=16),
    **_all("round", rounded, signs=True),
    **_all("clamp", clamped),
    **_all("select", selected),
    **_all("select_n", chosen),
    **_all("convert_element_type", converted),
    **_all("bitcast_convert_type", same_bits, smooth=False),
    **_all("reduce_precision", reduced_precision, smooth=False),
}
