"""The runner's modules live among JAX's tests, where `jaxshims` is a package; only ours are collected."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
collect_ignore = [
    str(path.relative_to(HERE)) for path in HERE.iterdir() if not path.name.startswith("test_")
]
sys.path.append(str(HERE))
