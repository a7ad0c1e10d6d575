"""Python text for effects, their attributes and types; and reading types back."""

from __future__ import annotations

import enum
import keyword
import math
import sys
from collections.abc import Sequence
from typing import Any, Final

import attrs
import numpy as np

from effax.effects.dtypes import SHORT
from effax.effects.effect import Effect
from effax.effects.printing import name_of_index
from effax.effects.program import Program
from effax.effects.rows.state import AbstractRef
from effax.effects.types import ShapedArray, float0
from effax.interpreters.stage import stage

_LONG: Final = {short: dtype for dtype, short in SHORT.items()}
_WEAK: Final = "~weak"
_TAKEN: Final = frozenset({*keyword.kwlist, *keyword.softkwlist, "np", "program", "nan", "inf"})
_FEW: Final = 16


def program(
    function: Any, *types: ShapedArray | AbstractRef | str, name: str = "program"
) -> Program:
    """Stage a function of arrays of these types as a closed program.

    Raises `ValueError` where it captures values from outside.

    Args:
      function: a function that returns a flat sequence of values.
      *types: the types of its arguments, or texts that print as them: "f32[2,3]".
      name: the program's name.

    >>> from effax.effects.rows.elementwise import mul
    >>> program(lambda x: [mul(x, 2.0)], "f32[3]")
    { lambda a:f32[3] .
      b:f32[3] = mul a 2.0:f32[3]
      in (b) }
    """
    staged = stage(lambda *xs: list(function(*xs)), [read_type(t) for t in types], name)
    if staged.captured:
        raise ValueError(f"{function} must be closed, but it captures {staged.captured}")
    return staged.program


def read_type(text: Any) -> Any:
    """The type that prints as a text: `f32[2,3]`, `f32[]~weak`, `Ref{f32[]}`; a type is itself.

    Raises `ValueError` for another text.
    """
    if not isinstance(text, str):
        return text
    if text.startswith("Ref{") and text.endswith("}"):
        return AbstractRef(read_type(text[4:-1]))
    strong, weak = text.removesuffix(_WEAK), text.endswith(_WEAK)
    name, bracket, lengths = strong.rstrip("]").partition("[")
    dtype: Any = _LONG.get(name, name)
    if not bracket or not strong.endswith("]") or not name.isidentifier():
        raise ValueError(f"expected a type such as f32[2,3], got {text!r}")
    try:
        shape = tuple(int(n) for n in lengths.split(",") if n)
        return ShapedArray(shape, float0 if name == "float0" else np.dtype(dtype), weak)
    except (TypeError, ValueError) as error:
        raise ValueError(f"expected a type such as f32[2,3], got {text!r}: {error}") from None


def variable_name(index: int) -> str:
    """The name of the variable of that number: letters, and never a word of Python."""
    name = name_of_index(index)
    return f"{name}_" if name in _TAKEN else name


class PythonText:
    """Spells attributes and effects, and keeps what the text must import or be given."""

    def __init__(self) -> None:
        self.modules: set[str] = set()
        self.imports: set[str] = set()
        self.constants: dict[str, np.ndarray[Any, Any]] = {}
        self.objects: dict[str, Any] = {}

    def header(self) -> list[str]:
        """The lines that import."""
        lines = ["import numpy as np"]
        if self.modules:
            lines.append(f"from effax.effects.rows import {', '.join(sorted(self.modules))}")
        return [*lines, *sorted(self.imports)]

    def spelling(self, effect: Effect) -> str:
        """Return the effect's name: `elementwise.add`, or a lookup where no module has it."""
        found = _spelling(effect)
        if found is None:
            self.imports.add("from effax.extend import find_effect")
            return f"find_effect({quoted(effect.name)})"
        self.modules.add(found.partition(".")[0])
        return found

    def nested(self, value: Any, lines: list[str], indent: str) -> str | None:
        """The text of a value that needs lines of its own before; None for any other."""
        return None

    def attribute(self, value: Any, lines: list[str], indent: str) -> str:
        """The text of an attribute; what is no text becomes an object to be given."""
        found = self.nested(value, lines, indent)
        if found is not None:
            return found
        if type(value) in (tuple, list):
            parts = [self.attribute(v, lines, indent) for v in value]
            comma = "," if type(value) is tuple and len(parts) == 1 else ""
            inside = ", ".join(parts) + comma
            return f"({inside})" if type(value) is tuple else f"[{inside}]"
        if isinstance(value, (np.ndarray, np.generic)):
            return self.array(value)
        if isinstance(value, np.dtype):
            return dtype_text(value)
        if isinstance(value, ShapedArray):
            self.imports.add("from effax.extend import ShapedArray")
            weak = ", True" if value.weak_type else ""
            return f"ShapedArray({value.shape}, {dtype_text(value.dtype)}{weak})"
        kind = type(value)
        if isinstance(value, enum.Enum) and _importable(kind) and is_name(value.name):
            return f"{self.of_module(kind)}.{value.name}"
        if (
            (hasattr(value, "_fields") or attrs.has(kind))
            and kind.__module__.startswith("effax.effects.")
            and _importable(kind)
        ):
            return self.record(value, lines, indent)
        if kind in (bool, int, float, complex, type(None)):
            return scalar_text(value)
        if kind is str:
            return quoted(value)
        if kind is bytes:
            return repr(value)
        return self.object(value)

    def of_module(self, kind: type) -> str:
        """The name by which a class is imported."""
        module, _, last = kind.__module__.rpartition(".")
        if module == "effax.effects.rows":
            self.modules.add(last)
            return f"{last}.{kind.__qualname__}"
        self.imports.add(f"import {kind.__module__}")
        return f"{kind.__module__}.{kind.__qualname__}"

    def record(self, value: Any, lines: list[str], indent: str) -> str:
        """A named tuple, or an instance of an attrs class, by its fields."""
        if hasattr(value, "_fields"):
            fields = {name: name for name in value._fields}
        else:
            fields = {a.name: a.alias for a in attrs.fields(type(value)) if a.init}
        parts = [
            f"{alias}={self.attribute(getattr(value, name), lines, indent)}"
            for name, alias in fields.items()
        ]
        return f"{self.of_module(type(value))}({', '.join(parts)})"

    def array(self, value: Any) -> str:
        """A few elements are written out; more are kept as a constant."""
        array = np.asarray(value)
        kind = dtype_text(array.dtype)
        if array.dtype == float0:
            return f"np.zeros({array.shape}, {kind})"
        if array.size > _FEW:
            name = f"c{len(self.constants)}"
            self.constants[name] = array
            return f'constants["{name}"].view({kind})'
        elements = _elements(array)
        return f"np.array({elements}, {kind})" if array.shape else f"{kind}.type({elements})"

    def object(self, value: Any) -> str:
        """Return an expression for an object without text: an import, or an entry of `objects`."""
        if _importable(value):
            self.imports.add(f"from {value.__module__} import {value.__qualname__}")
            return str(value.__qualname__)
        for name, known in self.objects.items():
            if known is value:
                return f"objects[{quoted(name)}]"
        base = str(getattr(value, "__name__", type(value).__name__)).strip("<>_") or "object"
        name = f"{base}_{len(self.objects)}"
        self.objects[name] = value
        return f"objects[{quoted(name)}]"


def quoted(text: str) -> str:
    """A string as Python that gives it back and executes none of it, with double quotes if it can.

    >>> print(quoted("f"), quoted('f"); print("'))
    "f" 'f"); print("'
    """
    plain = text.isprintable() and '"' not in text and "\\" not in text
    return f'"{text}"' if plain else repr(str(text))


def is_name(text: Any) -> bool:
    """Whether Python takes the text for one name, spelled as it is."""
    return (
        isinstance(text, str)
        and text.isascii()
        and text.isidentifier()
        and not keyword.iskeyword(text)
    )


def dtype_text(dtype: Any) -> str:
    """A dtype as Python."""
    if dtype == float0:
        return 'np.dtype([("float0", "V")])'
    return f"np.dtype({quoted(np.dtype(dtype).name)})"


def scalar_text(value: Any) -> str:
    """A Python number, infinities and NaN included.

    Raises `TypeError` for any other type: a subclass may print as something else.
    """
    if type(value) is complex:
        return f"complex({scalar_text(value.real)}, {scalar_text(value.imag)})"
    if type(value) is float and not math.isfinite(value):
        return f'float("{value}")'
    if type(value) not in (bool, int, float, type(None)):
        raise TypeError(f"expected a Python number, got {value!r} of class {type(value).__name__}")
    return repr(value)


def _elements(array: Any) -> str:
    if array.shape:
        return f"[{', '.join(map(_elements, array))}]"
    number = array.item()
    # The shortest digits that give the float back in its own precision.
    return scalar_text(float(str(array)) if isinstance(number, float) else number)


def _importable(value: Any) -> bool:
    """Whether importing the value by its name gives it; no module is imported to see that."""
    name, where = getattr(value, "__qualname__", ""), getattr(value, "__module__", None)
    if not is_name(name) or not isinstance(where, str) or where == "__main__":
        return False
    module = sys.modules.get(where)
    return all(map(is_name, where.split("."))) and getattr(module, name, None) is value


def _spelling(effect: Effect) -> str | None:
    """Return the effect's name in the module of its family: `elementwise.add`."""
    for name in (effect.family, *families()):
        module = sys.modules.get(f"effax.effects.rows.{name}")
        for attribute, value in vars(module).items() if module else ():
            if value is effect:
                return f"{name}.{attribute}"
    return None


def families() -> Sequence[str]:
    """The modules of effects, by name."""
    prefix = "effax.effects.rows."
    return sorted(name[len(prefix) :] for name in sys.modules if name.startswith(prefix))
