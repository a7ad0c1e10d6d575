"""`python -m effax.as_jax script.py ...`, or `-m module ...`, `-c text ...`: effax as jax."""

from __future__ import annotations

import runpy
import sys

from effax.as_jax.finder import enter

USAGE = "usage: python -m effax.as_jax (script.py | -m module | -c text) [argument ...]"


def main(arguments: list[str]) -> None:
    """Run a program as `python` with these arguments would."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE)
        sys.exit(0 if arguments else 2)
    enter()
    kind, rest = arguments[0], arguments[1:]
    if kind in ("-m", "-c") and not rest:
        sys.exit(f"{kind} needs an argument\n{USAGE}")
    if kind == "-m":
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif kind == "-c":
        sys.argv = ["-c", *rest[1:]]
        exec(compile(rest[0], "<string>", "exec"), {"__name__": "__main__"})  # as python -c does
    elif kind.startswith("-"):
        sys.exit(f"{kind} is no option here; give it to python itself\n{USAGE}")
    else:
        from os.path import abspath, dirname

        sys.argv = arguments
        if not sys.flags.safe_path:  # under -P the first entry is not the current directory
            sys.path[0] = dirname(abspath(kind))
        runpy.run_path(kind, run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
