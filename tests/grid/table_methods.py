"""Methods of arrays: properties, operators, indices and updates too; and methods of ufuncs.

A name here is `Array.` and an attribute, or an operator; or a ufunc and its method.
"""

from __future__ import annotations

from tests.grid.draw import Grid, named
from tests.grid.play import Drawer, Entry
from tests.grid.table_folding import partitions

INDICES = [
    "0",
    "-1",
    "...",
    "None",
    "::-1",
    "1:",
    ":, 0",
    "..., ::2",
    "0:0",
    "0, 0",
    "9",
    "1.5",
    "'x'",
]
INDICES += [
    "[0, 1]",
    "jnp.array([0, -1])",
    "np.array([[0], [1]]), ..., 0",
    ":, [0, 1]",
    "()",
    "True",
]
INDICES += ["-2:", "::2, None", "None, ..., None", "0, ..., -1", "False", "slice(None, None, -2)"]
INDICES += ["jnp.array([1, 5, -9])", "jnp.array(0)", "np.array([True, False])", "jnp.array([0.5])"]
INDICES += [
    "jnp.array([0, 1])[:, None], jnp.array([0, -1])",
    "[0, 1], 0",
    "0, 0, 0, 0",
    "jnp.int8(1)",
]
INTEGERS = [i for i in INDICES if "True" not in i and "False" not in i]
MODES = ["'clip'", "'drop'", "'fill'", "'promise_in_bounds'", "'wrap'"]


def method(
    *calls: str, kinds: str = "bifc48", least: int = 0, values: str = "normal edges few"
) -> Drawer:
    """A call of a method; `calls` are texts of its arguments, AXIS and AXES as in table_arranging."""

    def drawer(g: Grid, name: str) -> str:
        a = g.array(
            g.shape(least), g.dtype(kinds), *values.split(), form=g.pick("array", "array", "weak")
        )
        if g.last().form == "weak" and g.last().dtype not in ("int32", "float32", "complex64"):
            g.operands[-1] = g.last()._replace(form="array")
        text = g.pick(*calls) if calls else ""
        while "AXES" in text:
            text = text.replace("AXES", g.axes(a), 1)
        while "AXIS" in text:
            text = text.replace("AXIS", g.axis(a), 1)
        return f"{a}.{name.removeprefix('Array.')}({text})"

    return drawer


def attribute(g: Grid, name: str) -> str:
    a = g.array(g.shape(), g.dtype(), "normal", "edges")
    return f"{a}.{name.removeprefix('Array.')}"


def infix(symbol: str) -> Drawer:
    """A binary operator between arrays, or with a number at either side, or what is no number."""

    def drawer(g: Grid, name: str) -> str:
        left, right = g.broadcast()
        first = g.dtype("i" if symbol == ">>" else "bifc48")  # JAX shifts ones into four bits
        a = g.array(left, first)
        other = g.pick(
            "2", "0.5", "-1", "True", "1j", "np.float32(2)", "np.arange(3)", "'x'", "[1, 2]", "None"
        )
        if g.chance(55):
            other = g.operand(right, first if g.chance(60) else g.dtype())
        return f"{a} {symbol} {other}" if g.chance(65) else f"{other} {symbol} {a}"

    return drawer


def prefix(text: str) -> Drawer:
    def drawer(g: Grid, name: str) -> str:
        return text.replace("A", g.array(g.shape(), g.dtype()))

    return drawer


def indexed(g: Grid, name: str) -> str:
    a = g.array(g.shape(), g.dtype(), "normal")
    if g.chance(20):
        i = g.array(g.shape(0, 2), g.dtype("i4"), "index:2", "index:9")
        return f"{a}[{g.pick(i, f'..., {i}', f'{i}, None')}]"
    if g.chance(12):
        m = g.array(g.pick(g.shape_of(a), g.shape_of(a)[:1]), "bool", "few")
        return f"{a}[{m}]"
    return f"{a}[{g.pick(*INDICES)}]"


def updated(g: Grid, name: str) -> str:
    """`Array.at[].add` and its kin."""
    verb = name.rpartition(".")[2]
    chosen = g.dtype("bifc8")
    a = g.array(g.shape(), chosen, "normal", "few")
    index = g.pick(*(INDICES if g.chance(50) else INTEGERS))
    if g.chance(15):
        index = g.array(g.shape_of(a), "bool", "few")
    # Where an index may name nothing, JAX does not read the mode.
    words = g.words(20, mode=MODES[:-1] if index in ("0:0", "()") else MODES)
    if verb == "get":
        return f"{a}.at[{index}].get({(words + g.words(20, fill_value=['0', '7'])).removeprefix(', ')})"
    if verb == "apply":
        g.operands[0] = g.operands[0]._replace(dtype=g.dtype("ifc"))
        return f"{a}.at[{index}].apply({g.pick('jnp.square', 'jnp.negative', 'lambda x: x + 1')})"
    given = g.pick("1", "2.5", "-3", g.operand((), chosen if g.chance(60) else g.dtype(), "normal"))
    if g.chance(20):
        given = g.operand(g.shape(0, 2), chosen, "normal")
    words += g.words(8, indices_are_sorted=["False"], unique_indices=["False"])
    return f"{a}.at[{index}].{verb}({given}{words})"


def folded(g: Grid, name: str) -> str:
    """`ufunc.reduce`."""
    a = g.operand(g.shape(), g.dtype("bif"), "normal", "few")
    words = g.words(axis=lambda: g.pick(g.axis(a), g.axes(a), "None"), keepdims=["True"])
    words += g.words(15, initial=["1", "2"], dtype=["'float32'", "int"])
    if g.chance(12):
        words += f", where={g.array(g.shape_of(a), 'bool', 'few')}"
    return f"{name}({a}{words})"


def ran(g: Grid, name: str) -> str:
    kinds = "if" if "subtract" in name else "bif"
    a = g.operand(g.shape(), g.dtype(kinds), "normal", "few")
    return (
        f"{name}({a}{g.words(axis=lambda: g.axis(a))}{g.words(15, dtype=['int', repr('float32')])})"
    )


def outer(g: Grid, name: str) -> str:
    first = g.dtype("bif")
    return f"{name}({g.operand(g.shape(0, 2), first)}, {g.operand(g.shape(0, 2), first)})"


def at(g: Grid, name: str) -> str:
    first = g.dtype("if")
    a = g.array((4,), first, "normal", "few")
    i = g.pick("1", "jnp.array([0, 0, 2])", "jnp.array([1, -1])", "slice(0, 2)", "9")
    b = "" if name.split(".")[1] in ONE else f", {g.pick('2', g.operand((), first, 'normal'))}"
    return f"{name}({a}, {i}{b}, inplace=False)"


def cut(g: Grid, name: str) -> str:
    a = g.array(g.shape(1, 2, empty=False), g.dtype("if"), "normal", "few")
    places = g.pick(
        "jnp.array([0, 1])", "np.array([0])", "jnp.array([1, 0])", "jnp.array([0, 0, 1])"
    )
    return f"{name}({a}, {places}{g.words(axis=lambda: g.axis(a))})"


INFIX = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "pow": "**",
}
INFIX |= {"and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>", "matmul": "@"}
INFIX |= {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
PREFIX = {
    "neg": "-A",
    "pos": "+A",
    "abs": "abs(A)",
    "invert": "~A",
    "round": "round(A)",
    "len": "len(A)",
}
PREFIX |= {
    "bool": "bool(A)",
    "int": "int(A)",
    "float": "float(A)",
    "complex": "complex(A)",
    "index": "range(9)[A]",
}
PREFIX |= {
    "iter": "list(A)",
    "divmod": "divmod(A, 2)",
    "array": "np.asarray(A)",
    "hash": "hash(A)",
    "in": "1 in A",
}
ONE = {"negative", "abs", "sin", "exp"}
FOLDS = "add multiply maximum minimum logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor subtract"
FOLD = ("AXES", "axis=AXES, keepdims=True", "", "axis=AXIS")
METHODS: dict[str, Entry] = {
    **dict.fromkeys(
        ["sum", "prod", "max", "min", "mean"], Entry(method(*FOLD, values="normal few"))
    ),
    **dict.fromkeys(
        ["var", "std"], Entry(method(*FOLD, "ddof=1", values="normal"), slack=4, kinks=True)
    ),
    "ptp": Entry(method(*FOLD), wide=False),
    **dict.fromkeys(["all", "any"], Entry(method(*FOLD), smooth=False)),
    **dict.fromkeys(
        ["argmax", "argmin"],
        Entry(method("", "AXIS", "axis=AXIS, keepdims=True", kinds="bif4"), smooth=False),
    ),
    **dict.fromkeys(
        ["cumsum", "cumprod"],
        Entry(method("", "AXIS", "dtype='float32'", values="normal few"), more="of rank 0"),
    ),
    "sort": Entry(method("", "AXIS", "descending=True", "axis=AXIS, stable=False"), wide=False),
    "argsort": Entry(method("", "AXIS", "descending=True", "axis=AXIS"), smooth=False),
    "argpartition": Entry(partitions, smooth=False, wide=False),
    "astype": Entry(
        method(
            "'float32'",
            "int",
            "bool",
            "jnp.bfloat16",
            "'complex64'",
            "'nonsense'",
            "'uint8', copy=True",
        ),
        smooth=False,
        wide=False,
    ),
    "choose": Entry(
        method(
            "[1, 2]",
            "[1, 2], mode='clip'",
            "[jnp.arange(3), 7], mode='wrap'",
            kinds="i",
            values="few",
        ),
        smooth=False,
    ),
    "clip": Entry(method("0, 1", "min=-1", "max=jnp.array(1)", "None, 2", "", "0.5, 1.5")),
    "compress": Entry(
        method("jnp.array([True, False])", "[1, 0], axis=AXIS", "jnp.array([True]), size=2")
    ),
    **dict.fromkeys(["conj", "conjugate", "copy"], Entry(method())),
    "clone": Entry(method(), wide=False),
    "diagonal": Entry(method("", "1", "offset=-1", "0, AXIS, AXIS", least=1)),
    "dot": Entry(method("2", "jnp.arange(3)", "np.ones((3, 2), 'float32')", values="normal")),
    "flatten": Entry(method("", "'F'", "order='C'")),
    "item": Entry(method("", "0", "-1", "0, 0", "9"), wide=False, smooth=False, vmap=False),
    "nonzero": Entry(method("", "size=2", "size=3, fill_value=-1"), smooth=False),
    "ravel": Entry(method("", "order='F'", "'C'")),
    "repeat": Entry(
        method("2", "2, AXIS", "jnp.array([1, 0, 2])", "2, total_repeat_length=3"),
        more="numbers known while tracing",
    ),
    "reshape": Entry(method("-1", "(1, -1)", "-1, 1", "(3,)", "2, -1", "(-1,), order='F'", "")),
    "round": Entry(method("", "1", "decimals=2"), smooth=False),
    "searchsorted": Entry(
        method("1", "jnp.array([0, 2])", "1, side='right'", least=1, values="sorted"), smooth=False
    ),
    "squeeze": Entry(method("", "AXIS", "axis=AXES")),
    "swapaxes": Entry(method("AXIS, AXIS", least=1)),
    "take": Entry(
        method("0", "jnp.array([0, 1])", "[0, -1], axis=AXIS", "0, AXIS, mode='clip'"), smooth=False
    ),
    "tobytes": Entry(method("", "'F'"), wide=False, smooth=False, vmap=False),
    "tolist": Entry(method(), wide=False, smooth=False, vmap=False),
    "trace": Entry(method("", "1", "0, AXIS, AXIS", least=1)),
    "transpose": Entry(method("", "1, 0", "(0, 1)", "[1, 0]", "AXES")),
    "view": Entry(
        method("'int32'", "'float32'", "'uint8'", "'int16'", ""),
        smooth=False,
        wide=False,
        more="of bool",
    ),
}
PROPERTIES = "T mT real imag shape dtype ndim size itemsize nbytes weak_type"
AT = "set add subtract multiply divide mul power min max apply get"
TABLE: dict[str, Entry] = {
    **{f"Array.{name}": entry for name, entry in METHODS.items()},
    **dict.fromkeys(named(PROPERTIES, "Array"), Entry(attribute, wide=False)),
    **{f"Array.__{n}__": Entry(infix(symbol), signs=n != "matmul") for n, symbol in INFIX.items()},
    **{
        f"Array.__{n}__": Entry(prefix(text), vmap=False, wide=False, smooth=False, more="in")
        for n, text in PREFIX.items()
    },
    "Array.__getitem__": Entry(indexed),
    **dict.fromkeys(
        named(AT, "Array.at[]"), Entry(updated, wide=False, smooth=False, more="masks, traced")
    ),
    **dict.fromkeys(
        named(" ".join(f"{n}.reduce" for n in FOLDS.split())),
        Entry(folded, more="a dtype of what is compared"),
    ),
    **dict.fromkeys(
        named(" ".join(f"{n}.accumulate" for n in FOLDS.split())), Entry(ran, more="of rank 0")
    ),
    **dict.fromkeys(named("add.outer multiply.outer subtract.outer maximum.outer"), Entry(outer)),
    **dict.fromkeys(
        named("add.at multiply.at maximum.at negative.at subtract.at"),
        Entry(at, wide=False, more="slices"),
    ),
    **dict.fromkeys(named("add.reduceat multiply.reduceat maximum.reduceat"), Entry(cut)),
}
