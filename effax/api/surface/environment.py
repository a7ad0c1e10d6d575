"""The environment report for bug reports: the machine and the installed packages."""

from __future__ import annotations

import platform
import sys
from typing import Any


def print_environment_info(return_string: bool = False) -> str | None:
    """Print, or return, the versions and the devices that a program runs with.

    Args:
      return_string: whether the text is returned instead of printed.

    >>> import effax
    >>> "jaxlib" in effax.print_environment_info(return_string=True)
    True
    """
    import numpy as np

    from effax.backends.xla.client import jaxlib_version
    from effax.backends.xla.device import devices, process_count
    from effax.version import __version__

    found = devices()
    facts: dict[str, Any] = {
        "effax": __version__,
        "jaxlib": jaxlib_version,
        "numpy": np.__version__,
        "python": sys.version.replace("\n", " "),
        "device info": f"{found[0].device_kind}-{len(found)}, {process_count()} process(es)",
        "platform": platform.platform(),
    }
    text = "\n".join(f"{name + ':':13}{value}" for name, value in facts.items())
    if return_string:
        return text
    print(text)
    return None
