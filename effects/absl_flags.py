"""Settings as command-line flags of a program that uses absl: `--jax_enable_x64`, and so on."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any, Final

_defined: Final[list[str]] = []


def _absl() -> tuple[Any, Any]:
    """Return `absl.app` and `absl.flags`, which only such programs have installed."""
    return import_module("absl.app"), import_module("absl.flags")


def config_with_absl(options: Mapping[str, Any], update: Callable[[str, Any], None]) -> None:
    """Define a flag for each option; once absl's `app.run` has them, `update` is given them."""
    app, flags = _absl()
    for option_name, option in options.items() if not _defined else ():
        name, value, text = f"jax_{option_name}", option.value, option.text
        if isinstance(value, bool):
            flags.DEFINE_bool(name, value, text)
        elif isinstance(value, int):
            flags.DEFINE_integer(name, value, text)
        else:
            flags.DEFINE_string(name, None if value is None else str(value), text)
        _defined.append(name)
    app.call_after_init(lambda: take(update))


def parse_flags_with_absl(options: Mapping[str, Any], update: Callable[[str, Any], None]) -> None:
    """Define the flags, and take those that the command line has, whatever else it has."""
    config_with_absl(options, update)
    _, flags = _absl()
    mine = [x for x in sys.argv[1:] if x.lstrip("-").removeprefix("no").startswith("jax_")]
    flags.FLAGS([sys.argv[0], *mine], known_only=True)
    take(update)


def method(
    name: str, options: Mapping[str, Any], update: Callable[[str, Any], None]
) -> Callable[[], None]:
    """Return one of the two functions above, of these options, by its name."""
    found = {"config_with_absl": config_with_absl, "parse_flags_with_absl": parse_flags_with_absl}
    if name not in found:
        raise AttributeError(f"no setting is called {name!r}")
    return partial(found[name], options, update)


def take(update: Callable[[str, Any], None]) -> None:
    """Give `update` the values of the flags that were given."""
    _, flags = _absl()
    for name in _defined:
        found: Any = flags.FLAGS[name]
        if found.present:
            update(name, found.value)
