"""Installed packages written for JAX, copied with the import line changed.

    python renamed.py SITE TARGET

copies what the folder SITE holds into TARGET: each library of `PRIVATE` with the module `jax`
called `effax`, and with something in place of what it takes from JAX's private modules.
"""

import re
import shutil
import sys
from pathlib import Path

_JAX = re.compile(r"(?<![\w./])jax(?=[.\s,)\]:;'\"`]|$)", re.MULTILINE)

_TRACEBACKS = """class {name}:
  api_boundary = staticmethod(lambda f: f)
  register_exclusion = staticmethod(lambda path: None)
  include_frame = staticmethod(lambda frame: True)
  _exclude_paths = []
"""
# Types of one's own (experimental in JAX): classes over them can be defined, their values are refused.
_HIJAX = """class hjx:
  class HiPrimitive:
    def __init__(self, name): pass
    def bind(self, *operands, **params):
      raise NotImplementedError("a Variable with hijax=True: effax has no types of one's own")
  class MutableHiType: pass
  class control_flow_allowed_effects:
    add_type = staticmethod(lambda kind: None)
  AbstractValue = AvalQDD = AvalMutableQDD = object
  aval_property = property
  aval_method = instantiate_zeros = register_hitype = staticmethod(lambda first, *rest: first)
"""

# What stands for a private module of JAX, file by file: lines by regular expressions.
PRIVATE: dict[str, dict[str, list[tuple[str, str]]]] = {
    "blackjax": {"smc/**/*.py": [(r"effax\._src\.flatten_util", "effax.flatten_util")]},
    "chex": {
        "_src/restrict_backends.py": [(r"^from effax\._src import compiler$", "compiler = None")],
        "_src/fake.py": [(r"effax\._src\.xla_bridge\._backends", "{}")],
    },
    "diffrax": {},
    "equinox": {
        "**/*.py": [
            (
                r"^import effax\._src\.traceback_util as traceback_util",
                _TRACEBACKS.format(name="traceback_util"),
            ),
            (r"^import effax\._src\.dispatch$", ""),
            (r"effax\._src\.dispatch\.wait_for_tokens", "effax.effects_barrier"),
            (
                r"effax\._src\.dtypes import TypePromotionError",
                "effax.errors import TypePromotionError",
            ),
        ]
    },
    "flax": {
        "nnx/transforms/transforms.py": [
            (r"from effax\._src import checkify", "from effax.experimental import checkify")
        ],
        "nnx/variablelib.py": [
            (r"effax\._src\.state\.types import AbstractRef", "effax.ref import AbstractRef"),
            (r"^from effax\.experimental import hijax as hjx", _HIJAX),
        ],
        "nnx/graphlib.py": [
            (r"^from effax\._src\.tree_util import _registry as JAX_PYTREE_REGISTRY", ""),
            (r"(\S+) in JAX_PYTREE_REGISTRY", r"effax.tree_util.is_tree_node(\1)"),
        ],
        "linen/fp8_ops.py": [  # dtypes of one's own
            (r"^from effax\._src import (core|dtypes)$", r"from effax import \1"),
            (r"from effax\._src import earray", "earray = None"),
            (r"from effax\._src\.interpreters import pxla", "pxla = None"),
            (r"\(dtypes\.ExtendedDType\)", ""),
            (r"float_dtype: dtypes\.DType", "float_dtype: object"),
        ],
        "traceback_util.py": [
            (
                r"^from effax\._src import traceback_util as jax_traceback_util",
                _TRACEBACKS.format(name="jax_traceback_util"),
            ),
        ],
    },
    "haiku": {
        "__init__.py": [(r"^from haiku\._src\.dot import.*", "")],
        "experimental/__init__.py": [
            (r"^from haiku\._src\.dot import.*", "abstract_to_dot = to_dot = None")
        ],
        "_src/*_test.py": [  # not installed
            (r"^import tensorflow.* as tf", "tf = None"),
            (r"^from effax\.experimental import jax2tf", "jax2tf = None"),
        ],
    },
    "jaxopt": {},
    "jaxtyping": {},
    "jmp": {},
    "jraph": {"**/*_test.py": [(r"^from effax\.lib import xla_bridge", "xla_bridge = None")]},
    "lineax": {
        "_solve.py": [
            (r"^from effax\._src\.ad_util import stop_gradient_p", "stop_gradient_p = None")
        ]
    },
    "mctx": {"_src/tests/tree_test.py": [(r"\.\./mctx/", "mctx/")]},
    "numpyro": {
        "util.py": [
            (
                r"from effax\._src\.core import trace_state_clean",
                "trace_state_clean = lambda: True",
            )
        ]
    },
    "optax": {},
    "optimistix": {},
}


def copy(package: str, site: Path, target: Path) -> None:
    """Copies one library, with `jax` called `effax`."""
    shutil.rmtree(target / package, ignore_errors=True)
    shutil.copytree(site / package, target / package, ignore=shutil.ignore_patterns("__pycache__"))
    for path in (target / package).rglob("*.py"):
        text = _JAX.sub("effax", path.read_text(encoding="utf-8"))
        path.write_text(text, encoding="utf-8")
    for pattern, lines in PRIVATE[package].items():
        for path in (target / package).glob(pattern):
            text = path.read_text(encoding="utf-8")
            for before, after in lines:
                text = re.sub(before, lambda m, after=after: m.expand(after), text, flags=re.M)
            path.write_text(text, encoding="utf-8")


def main(site: Path, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for package in PRIVATE:
        if (site / package).is_dir():
            copy(package, site, target)
    for held in site.iterdir():  # what they import besides
        if held.name not in PRIVATE and held.name != "bin":
            if held.is_dir():
                shutil.copytree(held, target / held.name, dirs_exist_ok=True)
            else:
                shutil.copy(held, target)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
