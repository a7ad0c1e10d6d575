"""The library's name in what a test expects of a message: the target's, as it is in imports."""

from __future__ import annotations

import os
import re

_NAMES = re.compile(r"\bjax\\?\.numpy\b|\bjax\b|\bJAX\b")


def expected(pattern: str | re.Pattern[str]) -> str | re.Pattern[str]:
    """The pattern, in which `jax.numpy`, `jax` and `JAX` match the target's names as well."""
    target = os.environ.get("HARNESS_TARGET", "jax")
    if target == "jax":
        return pattern
    if isinstance(pattern, re.Pattern):
        return re.compile(expected(pattern.pattern), pattern.flags)
    return _NAMES.sub(lambda found: f"(?:{'|'.join(_names(found[0], target))})", pattern)


def mentions(text: str, words: str) -> bool:
    """Whether a text has these words, in which the target's names may stand for JAX's."""
    found = expected(re.escape(words))
    return words in text or (_NAMES.search(words) is not None and bool(re.search(found, text)))


def _names(name: str, target: str) -> list[str]:
    if name in ("jax", "JAX"):
        return [name, target]
    return [name, rf"{target}\.numpy", "jnp"]
