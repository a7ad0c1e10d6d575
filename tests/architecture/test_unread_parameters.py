"""Parameters that nobody reads: a public function heeds its arguments, refuses them by name, or has
a reason here for which a caller loses nothing."""

import ast
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "effax"
ROOMS = "api debug.py export image.py lax nn numpy ops.py random scipy tree.py tree_util.py"

# Patterns of `file function parameter` | why a caller loses nothing.
REASONS = """
api/compiling/jit.py jit keep_unused | unused arguments are operands of the program in any case
scipy/* * overwrite_? | arrays are never overwritten
scipy/* * check_finite | NaN and infinity have answers here, as in JAX
scipy/linalg.py * debug | SciPy took it away
scipy/linalg.py * lwork | memory to work in is XLA's
scipy/linalg.py eigh turbo | a faster way to the same answer
scipy/reduced_forms.py eigh_tridiagonal tol | eigenvalues are as exact as the dtype allows
scipy/reduced_forms.py eigh_tridiagonal key | JAX's, which does not read it either
scipy/stats/kde.py gaussian_kde.tree_unflatten aux_data | all of it is in the leaves
api/custom/calls.py SymbolicZero.of_keys implementation | a zero of keys has none
api/derivatives/checkpoint.py *_saveable * | a policy that always says the same of all
api/placing/live_arrays.py _Watch.__call__ info | all phases of a collection count
api/references/references.py TransformedRef.__array__ * | refused in any case
debug.py _Checker.format_field * | only the names are looked at
lax/decompositions.py eigh sort_eigenvalues | eigenvalues are ascending in any case
lax/folds.py approx_m??_k * | the k are found, by bins that XLA chooses for the length
lax/polar.py qdwh is_hermitian | a faster way to the same answer
numpy/choosing.py nan_to_num copy | arrays are never overwritten
numpy/manipulation.py reshape copy | the result may have memory of its own in any case
numpy/reading.py array_reshape copy | the result may have memory of its own in any case
numpy/counting.py histogram_bin_edges weights | NumPy's edges don't follow from them either
numpy/sets.py * assume_unique | a promise for the sake of speed
numpy/uniqueness.py unique sorted | the values are sorted in any case
numpy/standard.py ArrayNamespaceInfo.* device | all devices have the same dtypes
"""


def functions(tree: ast.AST, within: str = "") -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield public functions of a module and methods of its classes, with their names."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            if node.name.startswith("__") or not node.name.startswith("_"):
                yield within + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from functions(node, f"{within}{node.name}.")
        elif isinstance(node, ast.If | ast.Try):
            yield from functions(node, within)


def unread(function: ast.FunctionDef) -> list[str]:
    """Return the parameters that a function's body never reads.

    Deleting one is no reading, nor is `_ = one`. A function without a body, or that raises alone,
    reads none and may.
    """
    marks = {ast.unparse(d) for d in function.decorator_list}
    said = isinstance(function.body[0], ast.Expr) and isinstance(
        function.body[0].value, ast.Constant
    )
    body = function.body[said:]
    if not body or "overload" in marks or (len(body) == 1 and isinstance(body[0], ast.Raise)):
        return []
    dropped = ast.Assign, ast.Delete
    read = {
        n.id
        for statement in body
        if not (isinstance(statement, dropped) and _drops(statement))
        for n in ast.walk(statement)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
    }
    if "placed" in marks:
        read.add("out_sharding")  # the decorator takes it
    a = function.args
    named = [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]
    return [p.arg for p in named if p.arg not in read | {"self", "cls"} and p.arg[0] != "_"]


def _drops(statement: ast.Assign | ast.Delete) -> bool:
    if isinstance(statement, ast.Delete):
        return True
    target = statement.targets[0]
    return isinstance(target, ast.Name) and target.id.strip("_") == ""


def found() -> list[str]:
    files = [f for room in ROOMS.split() for f in sorted((ROOT / room).rglob("*.py"))]
    files += [ROOT / room for room in ROOMS.split() if room.endswith(".py")]
    return [
        f"{file.relative_to(ROOT)} {name} {parameter}"
        for file in files
        if file.exists()
        for name, function in functions(ast.parse(file.read_text(encoding="utf-8")))
        for parameter in unread(function)
        if not name.endswith(("__get__", "__exit__"))  # Python's protocol
    ]


FOUND = found()
PATTERNS = [line.split(" | ")[0] for line in REASONS.strip().splitlines()]


def test_each_parameter_that_nobody_reads_has_a_reason() -> None:
    assert len(FOUND) > 50
    assert [p for p in FOUND if not any(fnmatchcase(p, pattern) for pattern in PATTERNS)] == []


@pytest.mark.parametrize("pattern", PATTERNS)
def test_each_reason_has_a_case(pattern: str) -> None:
    assert any(fnmatchcase(p, pattern) for p in FOUND)


@pytest.mark.parametrize(
    ("text", "parameters"),
    [
        ("def f(a, b=1, *, c): return a + b", ["c"]),
        ("def f(a, b):\n del b\n return a", ["b"]),
        ("def f(a, b):\n _ = b\n return a", ["b"]),
        ("def f(a, *b, **c):\n def g(): return b\n return g", ["a", "c"]),
        ("def f(a): raise ValueError", []),
        ("@placed\ndef f(a, out_sharding=None): return a", []),
        ("def f(a, out_sharding=None): return a", ["out_sharding"]),
        ("def f(a):\n 'text'", []),
        ("def f(a, b):\n print(a)", ["b"]),
    ],
)
def test_the_search_itself(text: str, parameters: list[str]) -> None:
    ((_, function),) = functions(ast.parse(text))
    assert unread(function) == parameters
