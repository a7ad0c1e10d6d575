"""Functions of elements: unary, binary, and those with a few more operands or results."""

from __future__ import annotations

from tests.grid.draw import Grid, named
from tests.grid.play import Drawer, Entry


def unary(g: Grid, name: str) -> str:
    return f"{name}({g.operand(g.shape(), g.dtype())})"


def _two(g: Grid, first: str, second: str) -> tuple[str, str]:
    left, right = g.broadcast()
    return g.operand(left, first), g.operand(right, second)


def binary(g: Grid, name: str) -> str:
    """Of one dtype mostly, of any two sometimes."""
    first = g.dtype()
    second = g.dtype() if g.chance(40) else first
    a, b = _two(g, first, second)
    return f"{name}({a}, {b})"


def binary_of(kinds: str) -> Drawer:
    """Of dtypes of some kinds mostly."""

    def drawer(g: Grid, name: str) -> str:
        chosen = g.dtype(kinds)
        a, b = _two(g, chosen, g.dtype(kinds) if g.chance(30) else chosen)
        return f"{name}({a}, {b})"

    return drawer


def unary_of(kinds: str) -> Drawer:
    def drawer(g: Grid, name: str) -> str:
        return f"{name}({g.operand(g.shape(), g.dtype(kinds))})"

    return drawer


def shifts(g: Grid, name: str) -> str:
    # JAX shifts ones into four bits from the left.
    kinds = "ib" if "right" in name else "i4b"
    chosen = g.dtype(kinds) if g.chance(90) else g.dtype("f")
    left, right = g.broadcast()
    a = g.operand(left, chosen)
    return f"{name}({a}, {g.operand(right, chosen, 'normal', 'few', 'extreme')})"


def divisors(g: Grid, name: str) -> str:
    """Without extremes, by which JAX loops for ever."""
    chosen = g.dtype("i4b") if g.chance(92) else g.dtype()
    left, right = g.broadcast()
    a = g.operand(left, chosen, "normal", "few")
    return f"{name}({a}, {g.operand(right, chosen, 'normal', 'few')})"


def rounds(g: Grid, name: str) -> str:
    a = g.operand(g.shape(), g.dtype("bifc48"))
    return f"{name}({a}{g.words(decimals=['0', '1', '-1', '2', '3'])})"


def closeness(g: Grid, name: str) -> str:
    first = g.dtype("bifc")
    a, b = _two(g, first, g.dtype("bifc") if g.chance(30) else first)
    words = g.words(rtol=["0.1", "1e-3", "0"], atol=["0.5", "0"], equal_nan=["True", "False"])
    return f"{name}({a}, {b}{words})"


def equality(g: Grid, name: str) -> str:
    first = g.dtype()
    a, b = _two(g, first, g.dtype() if g.chance(30) else first)
    word = g.words(equal_nan=["True", "False"]) if name.endswith("equal") else ""
    return f"{name}({a}, {g.pick(a, b)}{word})"


def angles(g: Grid, name: str) -> str:
    return f"{name}({g.operand(g.shape(), g.dtype())}{g.words(deg=['True', 'False'])})"


def clips(g: Grid, name: str) -> str:
    chosen = g.dtype("bifc48")
    a = g.operand(g.shape(), chosen)
    bounds = {"min": ["None", "-1", "0", "1.5", "0.5"], "max": ["None", "1", "2", "0.75", "-2"]}
    if g.chance(30):
        bounds["max"] = [g.operand((), g.dtype("if"))]
    return f"{name}({a}{g.words(60, **bounds)})"


def cleaned(g: Grid, name: str) -> str:
    a = g.operand(g.shape(), g.dtype("bifc8"), "edges", "normal", "extreme")
    words = g.words(nan=["1", "0.5", "jnp.inf"], posinf=["9", "2.5"], neginf=["-9", "None"])
    return f"{name}({a}{words}{g.words(5, copy=['False', 'True'])})"


def chosen(g: Grid, name: str) -> str:
    """jnp.where in its two forms."""
    left, right = g.broadcast()
    c = g.operand(g.pick(left, right, ()), g.pick("bool", "bool", "int32", "float32"))
    if g.chance(15):
        words = g.words(80, size=["2", "4", "0"]) + g.words(fill_value=["-1", "0", "7"])
        return f"{name}({c}{words})"
    first = g.dtype()
    a, b = g.operand(left, first), g.operand(right, g.dtype() if g.chance(30) else first)
    return f"{name}({c}, {a}, {b})"


def unwraps(g: Grid, name: str) -> str:
    a = g.operand(g.shape(1, 2), g.dtype("if"), "normal")
    words = g.words(axis=lambda: g.axis(a), period=["2.0", "4", "6.5"], discont=["1.0", "5"])
    return f"{name}({a}{words})"


def extrapolated(g: Grid, name: str) -> str:
    """jnp.interp: the points must rise."""
    n = g.integer(1, 5)
    x = g.operand(g.shape(), g.dtype("if"), "normal", "edges")
    xp = g.array((n,), g.pick("float32", "int32", "float32"), "sorted")
    fp = g.array((n,), g.dtype("ifc"), "normal")
    sides = ["0.5", "-2", "'extrapolate'"]
    return f"{name}({x}, {xp}, {fp}{g.words(left=sides, right=sides, period=['4.0', '2'])})"


def exponents(g: Grid, name: str) -> str:
    first = g.dtype("f8") if g.chance(85) else g.dtype("bic")
    left, right = g.broadcast()
    a = g.operand(left, first)
    return f"{name}({a}, {g.operand(right, g.dtype('i4'), 'normal', 'few')})"


def powers(g: Grid, name: str) -> str:
    """Powers of arrays, and by literal exponents, which are found out before tracing."""
    if g.chance(40):
        a = g.operand(g.shape(), g.dtype("bifc48"))
        return f"{name}({a}, {g.pick('2', '3', '0', '-1', '0.5', '-2.0', '1', '1j', 'True')})"
    found = binary(g, name)
    base, exponent = g.operands[-2:]
    if base.dtype == "bool" and not exponent.shape:
        # Not under jit, JAX gives a Boolean's power by a narrow integer another dtype.
        g.operands[-1] = exponent._replace(dtype="int32")
    return found


PLAIN = Entry(unary, signs=True)
STEPS = Entry(unary, signs=True, smooth=False)
TWO = Entry(binary, signs=True)
TWO_STEPS = Entry(binary, signs=True, smooth=False)
BITS = Entry(binary_of("bi4"), smooth=False)

TABLE: dict[str, Entry] = {
    **dict.fromkeys(
        named(
            """abs absolute acos acosh arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan
            atanh cbrt conj conjugate cos cosh deg2rad degrees exp exp2 expm1 fabs i0 imag log log10
            log1p log2 negative positive rad2deg radians real reciprocal sin sinc sinh sqrt square
            tan tanh"""
        ),
        PLAIN,
    ),
    **dict.fromkeys(
        named(
            """bitwise_count bitwise_invert bitwise_not ceil floor frexp invert iscomplex
            isfinite isinf isnan isneginf isposinf isreal logical_not rint sign signbit
            spacing trunc modf"""
        ),
        STEPS,
    ),
    **dict.fromkeys(
        named(
            """add arctan2 atan2 copysign divide float_power heaviside hypot logaddexp
            logaddexp2 maximum minimum multiply subtract true_divide"""
        ),
        TWO,
    ),
    **dict.fromkeys(
        named(
            """divmod equal floor_divide fmod greater greater_equal less less_equal logical_and
            logical_or logical_xor mod not_equal remainder nextafter"""
        ),
        TWO_STEPS,
    ),
    **dict.fromkeys(
        named("bitwise_and bitwise_or bitwise_xor"),
        BITS,
    ),
    **dict.fromkeys(
        named("bitwise_left_shift bitwise_right_shift left_shift right_shift"),
        Entry(shifts, smooth=False),
    ),
    **dict.fromkeys(named("gcd lcm"), Entry(divisors, smooth=False)),
    **dict.fromkeys(named("power pow"), Entry(powers, signs=True)),
    **dict.fromkeys(named("round around"), Entry(rounds, smooth=False)),
    **dict.fromkeys(named("isclose allclose"), Entry(closeness, smooth=False)),
    "jnp.array_equal": Entry(equality, smooth=False),
    "jnp.array_equiv": Entry(equality, smooth=False, more="shapes that differ are not equivalent"),
    **dict.fromkeys(named("fmax fmin"), Entry(binary)),
    "jnp.angle": Entry(angles),
    **dict.fromkeys(named("iscomplexobj isrealobj"), Entry(unary, wide=False, smooth=False)),
    "jnp.clip": Entry(clips),
    "jnp.nan_to_num": Entry(cleaned, signs=True),
    "jnp.where": Entry(chosen),
    "jnp.unwrap": Entry(unwraps, smooth=False),
    "jnp.interp": Entry(extrapolated, smooth=False, more="of bfloat16"),
    "jnp.ldexp": Entry(exponents),
}
