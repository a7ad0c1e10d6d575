"""Makes ``import jax`` mean the target in subprocesses started by a test."""

import os

if os.environ.get("HARNESS_TARGET", "jax") != "jax":
    try:
        import redirect

        redirect.install()
    except ImportError:
        pass
