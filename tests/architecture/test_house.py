"""Rules of the house that no linter knows, each with the sentence that says what to do instead."""

import ast
import re
from pathlib import Path

from tests.architecture.sources import KERNEL, ROOT, imports, library_files, listing, tree

FILES = library_files()
CATCH_ALL = {"Exception", "BaseException"}
CAUGHT = {
    "backends/xla/host.py": "a callback may raise anything, which is the cause of what is raised",
    "effects/leaf_paths.py": "a user's class may refuse placeholders by anything; its names are lost",
    "interpreters/batch/custom.py": "a user's rule is asked before its time, and raises again",
}
"""Files where whatever is raised may be caught, each with its reason."""
KERNEL_MODULES = tuple(f"effax.{name}" for name in KERNEL)


def inside(path: Path, *places: str) -> bool:
    """Whether a file is one of the places, or lies under one that is a folder."""
    return any(path == Path(place) or Path(place) in path.parents for place in places)


def within(module: str, *packages: str) -> bool:
    """Whether a module is one of the packages or inside one."""
    return any(module == package or module.startswith(package + ".") for package in packages)


def complain_about_imports(
    *packages: str, files: list[Path], advice: str, at_load: bool = False
) -> None:
    complaints = [
        f"{path}:{line}: imports {module}: {advice}"
        for path in files
        for line, module in imports(path, at_load=at_load)
        if within(module, *packages)
    ]
    assert not complaints, listing(complaints)


def _raises_again(handler: ast.ExceptHandler) -> bool:
    last = handler.body[-1]
    if not isinstance(last, ast.Raise):
        return False
    return last.exc is None or getattr(last.cause, "id", "") == handler.name


def test_exceptions_are_named():
    complaints = []
    for path in FILES:
        for node in ast.walk(tree(path)):
            # A handler that ends by raising again, or what has the error as its cause, hides nothing.
            if isinstance(node, ast.ExceptHandler) and not _raises_again(node):
                caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
                every = any(
                    kind is None or getattr(kind, "id", None) in CATCH_ALL for kind in caught
                )
                if every and str(path) not in CAUGHT:
                    complaints.append(
                        f"{path}:{node.lineno}: name the exceptions that are expected here"
                    )
    assert not complaints, listing(complaints)


def test_imports_are_absolute():
    complaints = [
        f"{path}:{node.lineno}: write the full name, effax..."
        for path in FILES
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert not complaints, listing(complaints)


def test_jax_is_never_imported():
    complain_about_imports("jax", files=FILES, advice="the library stands on jaxlib alone")


def test_jaxlib_is_touched_in_one_place():
    files = [path for path in FILES if not inside(path, "effects/runtime.py")]
    complain_about_imports("jaxlib", files=files, advice="import its modules from effects.runtime")


def test_jaxlib_is_used_under_xla_only():
    """And in the file of pytrees, whose registry is jaxlib's."""
    files = [path for path in FILES if not inside(path, "backends/xla", "effects/tree.py")]
    complain_about_imports(
        "effax.effects.runtime",
        files=files,
        advice="go through backends/xla, or effects/tree.py for pytrees",
    )


def test_mlir_bindings_are_not_loaded():
    complain_about_imports(
        "jaxlib.mlir",
        files=FILES,
        advice="lowering writes text; import inside a function",
        at_load=True,
    )


def test_scipy_is_imported_lazily():
    complain_about_imports(
        "scipy", files=FILES, advice="import it in the function that needs it", at_load=True
    )


def test_interpreters_do_not_compute():
    files = [path for path in FILES if inside(path, "interpreters")]
    complain_about_imports(
        "numpy", files=files, advice="an interpreter performs effects; NumPy is a backend"
    )


DECLARATIONS = (Path("effects/declared.py"), Path("effects/value.py"))
"""Files that tell type checkers what the surface installs on arrays; nothing of it is imported when
the library runs (import-linter looks at that)."""


def test_kernel_does_not_know_its_users():
    complaints = [
        f"{path}:{line}: imports {module}: effects, interpreters and backends lie below the rest of effax"
        for path in FILES
        if inside(path, *KERNEL) and path not in DECLARATIONS
        for line, module in imports(path)
        if within(module, "effax") and not within(module, *KERNEL_MODULES)
    ]
    assert not complaints, listing(complaints)


def test_context_variables_are_set_in_one_place():
    """`contexts.put`, which says what `ContextVar.set` and the last `reset` would do."""
    variables = {
        node.target.id
        for path in library_files()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        if "ContextVar(" in ast.unparse(node)
    }
    assert {"current", "_scope"} <= variables
    complaints = [
        f"{path}:{node.lineno}: {ast.unparse(node)}"
        for path in library_files()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Attribute) and node.attr == "set"
        if isinstance(node.value, ast.Name) and node.value.id in variables
    ]
    assert not complaints, listing(complaints)


def test_executables_are_run_in_one_place():
    """Every call that was compiled before is a launch (`backends/xla/launch.py`)."""
    found = {
        path.as_posix()
        for path in library_files()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Attribute)
        if node.attr in ("consume_with_handlers", "execute_sharded")
    }
    assert found == {"backends/xla/executable.py", "backends/xla/launch.py"}


def test_nothing_is_left_for_later():
    note = re.compile(r"#.*\b(TODO|FIXME|XXX|HACK)\b")
    complaints = [
        f"{path}:{number}: do it, or refuse with a named error that says what to write instead"
        for path in FILES
        for number, line in enumerate((ROOT / path).read_text(encoding="utf-8").splitlines(), 1)
        if note.search(line) or re.search(r"raise NotImplementedError(\(\))?\s*$", line)
    ]
    assert not complaints, listing(complaints)
