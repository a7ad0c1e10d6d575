"""jax._src.test_warning_util: scoped handling of warnings."""

from __future__ import annotations

import contextlib
import warnings


@contextlib.contextmanager
def raise_on_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@contextlib.contextmanager
def record_warnings():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        yield seen


@contextlib.contextmanager
def ignore_warning(*, message="", category=Warning, **kw):
    with warnings.catch_warnings():
        if hasattr(message, "pattern"):
            message = message.pattern
        warnings.filterwarnings("ignore", message=message, category=category, **kw)
        yield
