"""The length of each transform: its code lines, without blanks, comments and docstrings.

python examples/transforms/lines.py            the table; fails where a bar is missed
python examples/transforms/lines.py README.md  the same, and writes it into that file
"""

import ast
import io
import sys
import tokenize
from pathlib import Path

HERE = Path(__file__).parent
BARS = {  # name: what it is, the bar, today's public implementation and its lines
    "cost": ("operation and cost counting", 40, "jax roofline, 900"),
    "nan_provenance": ("NaN provenance", 40, "jax checkify, 945"),
    "harvest": ("sow, reap, plant", 60, "oryx harvest, 1206"),
    "key_reuse": ("random-key reuse checker", 60, "jax key_reuse, 452"),
    "seed": ("implicit keys, vmap that samples", 80, "genjax pjax, 873"),
    "units": ("units of measure", 60, "quax example, 66 on 343"),
    "interval": ("interval bounds", 120, "jax_verify, 1627"),
    "crown": ("CROWN-style linear bounds", 120, "jax_verify, 1556"),
    "sparsity": ("Jacobian sparsity", 100, "asdex, 1511"),
    "compressed": ("coloring, compressed Jacobians", 100, "sparsejac, 180"),
    "taylor": ("Taylor mode, collapsed sums", 120, "jax jet, 523"),
    "laplacian": ("forward Laplacian", 70, "fwdlap, 323; folx, 3230"),
    "inverse": ("inverse and log-density", 120, "oryx, 553 + 259"),
    "adev": ("gradients of expectations", 80, "genjax adev, 806"),
    "amb": ("search over all choices", 40, "none in JAX"),
    "early_exit": ("early exit from branches and loops", 20, "none in JAX"),
    "backpropagation": ("reverse mode by continuations", 60, "none in JAX"),
    "nested_sampling": ("nested sampling of models", 60, "jaxns, a library"),
    "dual": ("forward mode, from outside", 150, "jax.jvp"),
    "batch": ("vmap, from outside", 150, "jax.vmap"),
}
BEGIN, END = "<!-- transforms: written by examples/transforms/lines.py -->", "<!-- end -->"
NOT_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def code_lines(text: str) -> int:
    """Count the lines of a module that hold a token other than comments and docstrings."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    prose: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            string = node.body[0]
            prose.update(range(string.lineno, (string.end_lineno or string.lineno) + 1))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NOT_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - prose)


def foreign_imports(text: str) -> set[str]:
    """The packages that a module imports beside effax and Python's own."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found.update(name.name.partition(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").partition(".")[0])
    return found - sys.stdlib_module_names - {"effax"}


def measured() -> dict[str, int]:
    """The code lines of each transform that there is."""
    files = {name: HERE / f"{name}.py" for name in BARS}
    return {
        name: code_lines(path.read_text(encoding="utf-8"))
        for name, path in files.items()
        if path.exists()
    }


def missed() -> list[str]:
    """The transforms that are longer than their bar."""
    return [name for name, lines in measured().items() if lines > BARS[name][1]]


def table() -> str:
    """Transform, bar, measured, and what there was."""
    rows = [
        "| transform | bar, lines | measured | today's public implementation |",
        "|---|--:|--:|---|",
    ]
    for name, lines in measured().items():
        title, bar, today = BARS[name]
        link = f"[{title}](examples/transforms/{name}.py)"
        rows.append(f"| {link} | {bar} | {lines} | {today} |")
    return "\n".join(rows)


def written_into(text: str) -> str:
    """A text with the table between its two marks."""
    before, _, rest = text.partition(BEGIN)
    _, mark, after = rest.partition(END)
    if not mark:
        raise SystemExit(f"the file has no lines {BEGIN!r} and {END!r} to write between")
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


def main() -> int:
    """Print the table, write it where asked; 1 if a bar is missed."""
    for name in sys.argv[1:]:
        path = Path(name)
        path.write_text(written_into(path.read_text(encoding="utf-8")), encoding="utf-8")
    print(table())
    for name in missed():
        print(f"{name}.py is longer than its bar")
    return 1 if missed() else 0


if __name__ == "__main__":
    raise SystemExit(main())
