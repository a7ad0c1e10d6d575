"""Examples of pages as they can be pasted at Python's prompt."""

from __future__ import annotations

import re

BLOCK = re.compile(
    r"^(?P<indent> *)>>> (?:@|(?:async |)(?:class|def|for|if|try|while|with)\b).*\n"
    r"(?:(?P=indent)\.\.\. .*\n)*(?!(?P=indent)\.\.\.)",
    re.M,
)
"""An example that is a block and lacks the line that ends it at Python's prompt."""


def close_blocks(text: str) -> str:
    """Add the line that ends each `def`, loop and other block of a page's examples.

    Doctest does without it, but Python's prompt does not: copied without it, the next statement is
    a SyntaxError.
    """
    return BLOCK.sub(lambda found: f"{found[0]}{found['indent']}... \n", text)
