"""The carrier of a user's interpreter: leaves and a form; data is made of them when asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from effax.effects.handler import Carrier
from effax.effects.types import ShapedArray

if TYPE_CHECKING:
    from effax.interpreters.interpreter.data import Interpreter

_LIMIT: Final = 1024


class CarriedForm:
    """Data of an interpreter apart from the leaves: which of these there are, and the statics.

    Forms are interned for each class, so that they are part of a key by identity.
    """

    __slots__ = ("fixed", "interpreter", "names")

    def __init__(
        self, interpreter: type[Interpreter], present: Sequence[bool], statics: Sequence[Any]
    ) -> None:
        fields = interpreter._fields
        self.interpreter = interpreter
        self.names = tuple([n for n, there in zip(fields.leaves, present, strict=True) if there])
        self.fixed: dict[str, Any] = dict.fromkeys(fields.order)
        self.fixed.update(zip(fields.statics, statics, strict=True))

    @staticmethod
    def of(
        interpreter: type[Interpreter], present: tuple[bool, ...], statics: tuple[Any, ...]
    ) -> CarriedForm:
        """The form with these leaves and statics."""
        key: Any = present
        if statics:  # compare types too, as 1 == 1.0 == True
            key = present, statics, tuple(map(type, statics))
        try:
            found = interpreter._forms.get(key)
        except TypeError:  # an unhashable static
            return CarriedForm(interpreter, present, statics)
        if found is None:
            if len(interpreter._forms) >= _LIMIT:
                interpreter._forms.clear()
            found = interpreter._forms[key] = CarriedForm(interpreter, present, statics)
        return found

    def data(self, parts: Sequence[Any]) -> Any:
        """Data of this form, with these leaves."""
        found = object.__new__(self.interpreter)
        found.__dict__ = {**self.fixed, **dict(zip(self.names, parts, strict=True))}
        return found


class Carried(Carrier):
    """A value under a user's interpreter: the leaves that there are, and the form of the rest."""

    __slots__ = ("_data", "_type", "form", "parts")

    def __init__(
        self,
        handler: Any,
        form: CarriedForm,
        parts: Sequence[Any],
        type: ShapedArray | None = None,
        data: Any = None,
    ) -> None:
        self.handler = handler
        self.form = form
        self.parts = parts
        self._data = data
        self._type = type

    @property
    def data(self) -> Any:
        """The data of the interpreter's class, made when it is asked for."""
        found = self._data
        if found is None:
            found = self._data = self.form.data(self.parts)
        return found

    @property
    def type(self) -> ShapedArray:  # type: ignore[override]
        """The type that the data says it stands for."""
        found = self._type
        if found is None:
            found = self._type = self.data.type
        return found

    def concrete(self) -> Any:
        """The leaf that is declared primal, where its elements are known: Python may branch."""
        value = self.left()
        if value is self:
            return None
        return value.concrete() if isinstance(value, Carrier) else value

    def left(self) -> Any:
        """The leaf that is declared primal; the value itself where there is none."""
        primal = self.form.interpreter._fields.primal
        if primal not in self.form.names:
            return self
        return self.parts[self.form.names.index(primal)]

    def contents(self) -> dict[str, Any]:
        """The leaves by the names of their fields."""
        return dict(zip(self.form.names, self.parts, strict=True))
