"""Cases that nobody would write: a drawn case with its operands, literals or keywords changed.

The grid draws mostly what fits. `distorted(case, name, rng)` changes one thing or a few: an
operand's shape, dtype, form or values; a number, a string or a tuple in the code; a keyword that is
there or could be. `bare` calls a function with operands of any shape, whatever it takes.
`transformed` puts a case under jit, vmap or a derivative: that is code too.
"""

from __future__ import annotations

import ast
import inspect
import string
from collections.abc import Callable
from random import Random
from typing import Any

from tests.grid.case import Case, Operand, dtype_of, is_inexact
from tests.grid.check import EFFAX
from tests.grid.draw import BITS, SHAPES, WEAK

DTYPES = [dtype for narrow, wide in BITS.values() for dtype in (*narrow, *wide)]
VALUES = ("normal", "edges", "few", "positive", "extreme", "among:nan:inf:-inf:0:-0.0:1:-1:2")
NUMBERS = [
    0,
    1,
    -1,
    2,
    -2,
    3,
    -3,
    5,
    9,
    -9,
    True,
    0.5,
    -1.5,
    None,
    (),
    (0,),
    (0, 0),
    (0, -1),
    (1, 0),
]
NUMBERS += [[0], [1, 0], "x", 1j]
OPERANDS = ["2", "-1", "0.5", "True", "1j", "None", "np.arange(3)", "np.float32(2)", "[1, 2]", "()"]
WORDS: dict[str, list[Any]] = {
    "axis": [0, -1, 1, 2, -4, None, (0,), (0, 1), (0, 0), (-1, 0), (), 1.0, True],
    "keepdims": [True, False, 1],
    "dtype": ["float32", "int8", "bool", "complex64", "bfloat16", "uint8", "float16", "no", None],
    "initial": [0, 1.5, -1, None, 1j],
    "ddof": [0, 1, 5, 0.5],
    "correction": [0, 1, 0.5],
    "offset": [0, 1, -1, 5],
    "k": [0, 1, -1, 5],
    "n": [0, 1, 2, -1, 5],
    "num": [0, 1, 3, -1],
    "size": [0, 1, 3, 5],
    "length": [0, 1, 5],
    "fill_value": [0, -1, 1.5, None],
    "mode": ["clip", "wrap", "fill", "raise", "full", "same", "valid", "x", None],
    "side": ["left", "right", "x"],
    "method": ["linear", "nearest", "lower", "sort", "scan", "x"],
    "order": ["C", "F", "K", None, 1, 2],
    "ord": [None, 1, 2, -1, "fro", "nuc", 0, 0.5],
    "norm": [None, "ortho", "forward", "backward", "x"],
    "descending": [True, False],
    "stable": [True, False],
    "equal_nan": [True, False],
    "assume_unique": [True, False],
    "return_index": [True],
    "return_inverse": [True],
    "return_counts": [True],
    "full_matrices": [True, False],
    "compute_uv": [True, False],
    "hermitian": [True, False],
    "lower": [True, False],
    "rowvar": [True, False],
    "bias": [True, False],
    "density": [True, False],
    "bins": [3, 1, 0, -1],
    "period": [2.0, 0.0, -1.0],
    "left": [0.5],
    "right": [0.5],
    "invert": [True],
    "increasing": [True, False],
    "wrap": [True, False],
    "copy": [True, False],
    "promote_integers": [True, False],
    "total_repeat_length": [0, 2, 7],
    "ndmin": [0, 1, 3],
    "indexing": ["ij", "xy", "x"],
    "sparse": [True, False],
    "endpoint": [True, False],
    "retstep": [True],
}


def distorted(case: Case, name: str, rng: Random) -> Case:
    """The case with one thing changed, or two, or three."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        changes: list[Callable[[Case, str, Random], Case]] = [
            _literal,
            _keyword,
            _more_words,
            _wide,
        ]
        if case.operands:
            changes += [_shape, _shape, _shape, _dtype, _dtype, _form, _values, _replaced]
        case = rng.choice(changes)(case, name, rng)
    return case


def revalued(case: Case, rng: Random) -> Case:
    """The case with other values, of the same kinds, or where any will do perhaps of other ones."""
    operands = []
    for o in case.operands:
        kind = rng.choice(VALUES) if o.kind in VALUES and rng.random() < 0.3 else o.kind
        operands.append(o._replace(kind=kind, seed=rng.randrange(1000)))
    return case._replace(operands=tuple(operands))


def bare(name: str, rng: Random) -> Case:
    """A call of a function with one operand to three, of any shapes; of one dtype, or of any."""
    count = rng.choice((1, 2, 2, 3))
    common = rng.choice(DTYPES)
    operands = []
    for seed in range(count):
        dtype = common if rng.random() < 0.7 else rng.choice(DTYPES)
        operands.append(Operand(dtype, rng.choice(SHAPES), "normal", seed))
    case = Case(f"{name}({', '.join(string.ascii_lowercase[:count])})", tuple(operands))
    return _more_words(case, name, rng) if rng.random() < 0.4 else case


def transformed(case: Case, how: str) -> Case | None:
    """The case under jit, vmap, jvp or vjp; None where there is nothing to transform by."""
    moved = [
        letter
        for letter, o in zip(string.ascii_lowercase, case.operands, strict=False)
        if o.form in ("array", "weak", "host") and (how in ("jit", "vmap") or _slides(o))
    ]
    if not moved:
        return None
    names = ", ".join(moved)
    function = f"lambda {names}: ({case.code})"
    if how == "jit":
        return case._replace(code=f"jax.jit({function})({names})")
    if how == "vmap":
        stacks = ", ".join(f"jnp.stack([{x}, jnp.roll({x}, 1)])" for x in moved)
        return case._replace(code=f"jax.vmap({function})({stacks})")
    if how == "jvp":
        tangents = ", ".join(f"jnp.cos({x})" for x in moved)
        return case._replace(code=f"jax.jvp({function}, ({names},), ({tangents},))")
    pulled = "lambda out, pull: (out, pull(jax.tree.map(jnp.cos, out)))"
    return case._replace(code=f"({pulled})(*jax.vjp({function}, {names}))")


def _slides(operand: Operand) -> bool:
    """Whether an operand has tangents of its own dtype."""
    return is_inexact(dtype_of(operand.dtype)) and not operand.dtype.startswith("float8")


def _with(case: Case, rng: Random, **fields: Any) -> Case:
    """The case with one operand changed."""
    place = rng.randrange(len(case.operands))
    operands = list(case.operands)
    operands[place] = _formed(operands[place]._replace(**fields))
    return case._replace(operands=tuple(operands))


def _formed(operand: Operand) -> Operand:
    """In a form that its dtype and shape can have."""
    if operand.form == "scalar" and operand.shape:
        operand = operand._replace(form="weak")
    if operand.form in ("weak", "scalar") and operand.dtype not in WEAK:
        return operand._replace(form="array")
    return operand


def _shape(case: Case, name: str, rng: Random) -> Case:
    place = rng.randrange(len(case.operands))
    shape = list(case.operands[place].shape)
    ways = ["any", "longer"]
    ways += ["shorter", "extent", "extent"] if shape else []
    way = rng.choice(ways)
    if way == "any":
        shape = list(rng.choice(SHAPES))
    elif way == "longer" and len(shape) < 5:
        shape.insert(rng.choice((0, len(shape))), rng.choice((1, 2, 3, 0)))
    elif way == "shorter":
        del shape[rng.randrange(len(shape))]
    elif way == "extent":
        axis = rng.randrange(len(shape))
        shape[axis] = rng.choice((0, 1, shape[axis] + 1, max(shape[axis] - 1, 0)))
    operands = list(case.operands)
    operands[place] = _formed(operands[place]._replace(shape=tuple(shape)))
    return case._replace(operands=tuple(operands))


def _dtype(case: Case, name: str, rng: Random) -> Case:
    return _with(case, rng, dtype=rng.choice(DTYPES))


def _form(case: Case, name: str, rng: Random) -> Case:
    return _with(case, rng, form=rng.choice(("array", "weak", "host", "scalar", "list")))


def _values(case: Case, name: str, rng: Random) -> Case:
    return _with(case, rng, kind=rng.choice(VALUES))


def _wide(case: Case, name: str, rng: Random) -> Case:
    return case._replace(x64=not case.x64)


def _replaced(case: Case, name: str, rng: Random) -> Case:
    """One mention of an operand becomes another operand, or a literal."""
    tree = ast.parse(case.code, mode="eval")
    letters = case.names.split(", ")
    found = [n for n in ast.walk(tree) if _read(n, ast.Name) and n.id in letters]
    if found:
        chosen = rng.choice(found)
        other = rng.choice([*OPERANDS, *letters])
        return _rewritten(case, tree, chosen, ast.parse(other, mode="eval").body)
    return case


def _read(node: ast.AST, kind: type[ast.Name] | type[ast.Tuple]) -> bool:
    """Whether a node is of a kind and is read; the targets of a loop are assigned to."""
    return isinstance(node, kind) and isinstance(node.ctx, ast.Load)


def _literal(case: Case, name: str, rng: Random) -> Case:
    """One literal becomes another; a tuple may lose, gain or repeat an element."""
    tree = ast.parse(case.code, mode="eval")
    found = [n for n in ast.walk(tree) if isinstance(n, ast.Constant) or _read(n, ast.Tuple)]
    if not found:
        return case
    chosen = rng.choice(found)
    if isinstance(chosen, ast.Tuple) and chosen.elts and rng.random() < 0.7:
        elements = list(chosen.elts)
        if rng.random() < 0.5:
            del elements[rng.randrange(len(elements))]
        else:
            elements.append(rng.choice([*elements, ast.Constant(1), ast.Constant(0)]))
        return _rewritten(case, tree, chosen, ast.Tuple(elements, ast.Load()))
    if isinstance(chosen, ast.Constant) and isinstance(chosen.value, str):
        other: Any = rng.choice([*DTYPES, "x", None, "same", "wrap"])
    elif isinstance(chosen, ast.Constant) and isinstance(chosen.value, bool):
        other = rng.choice([not chosen.value, None, 1])
    else:
        other = rng.choice(NUMBERS)
    return _rewritten(case, tree, chosen, ast.parse(repr(other), mode="eval").body)


def _keyword(case: Case, name: str, rng: Random) -> Case:
    """A keyword less, or with another value."""
    tree = ast.parse(case.code, mode="eval")
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and n.keywords]
    if not calls:
        return case
    call = rng.choice(calls)
    place = rng.randrange(len(call.keywords))
    word = call.keywords[place].arg
    if word in WORDS and rng.random() < 0.6:
        call.keywords[place].value = ast.parse(repr(rng.choice(WORDS[word])), mode="eval").body
    else:
        del call.keywords[place]
    return case._replace(code=ast.unparse(tree))


def _more_words(case: Case, name: str, rng: Random) -> Case:
    """A keyword that the function has, and the call does not mention."""
    tree = ast.parse(case.code, mode="eval")
    call = tree.body
    if not isinstance(call, ast.Call):
        return case
    try:
        function = eval(ast.unparse(call.func), dict(EFFAX.names))
        parameters = list(inspect.signature(function).parameters)
    except (NameError, AttributeError, TypeError, ValueError):  # a method, or no signature
        return case
    said = {*parameters[: len(call.args)], *(word.arg for word in call.keywords)}
    free = [p for p in parameters if p not in said and (p in WORDS or p == "where")]
    if not free:
        return case
    word = rng.choice(free)
    operands = case.operands
    if word == "where":
        shape = rng.choice([o.shape for o in operands] + [(), (1,), (3,)])
        operands = (*operands, Operand("bool", shape, "few", rng.randrange(9)))
        value: Any = ast.Name(string.ascii_lowercase[len(operands) - 1], ast.Load())
    else:
        value = ast.parse(repr(rng.choice(WORDS[word])), mode="eval").body
    call.keywords.append(ast.keyword(word, value))
    return case._replace(code=ast.unparse(tree), operands=operands)


def _rewritten(case: Case, tree: ast.Expression, old: ast.AST, new: ast.AST) -> Case:
    class Swap(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> Any:
            return new if node is old else self.generic_visit(node)

    return case._replace(code=ast.unparse(ast.fix_missing_locations(Swap().visit(tree))))
