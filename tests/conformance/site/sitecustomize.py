"""Makes `import jax` mean the target in subprocesses started by a test, and `JAX_X` its `X`."""

import os
import re

_TARGET = os.environ.get("HARNESS_TARGET", "jax")

if _TARGET != "jax":
    for name, value in list(os.environ.items()):
        if name.startswith("JAX_"):
            setting = f"{_TARGET.upper()}_{name.removeprefix('JAX_')}"
            os.environ.setdefault(setting, re.sub(r"\bjax\b", _TARGET, value))
    try:
        import redirect

        redirect.install()
    except ImportError:
        pass
