"""State: references to arrays that can be written, and the effects on them.

The handler in which a reference is made answers for it: the contents are a value of that handler.
An effect on it that is performed further in goes outwards to there, unless a recorder stands in
between, which records it: so a program's row says `state` exactly where it touches references that
were made outside of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from effax.effects.effect import REFERENCES, Effect
from effax.effects.errors import RefError, UnexpectedTracerError
from effax.effects.frames import user_frame
from effax.effects.handler import Carrier, bottom, innermost, outside
from effax.effects.interning import Interned
from effax.effects.types import ShapedArray, register_type, typeof

if TYPE_CHECKING:
    from effax.effects.program import Program

FAMILY: Final = "state"


class AbstractRef:
    """The type of a reference to an array of a type. Interned, as array types are.

    A `constant` one is written without derivatives: what is read from it does not move.

    >>> AbstractRef(ShapedArray((3,), "float32"))
    Ref{f32[3]}
    """

    __slots__ = (
        "__weakref__",
        "constant",
        "cut",
        "dtype",
        "inner_aval",
        "ndim",
        "shape",
        "size",
        "varying",
        "weak_type",
    )

    inner_aval: ShapedArray
    shape: tuple[int, ...]
    dtype: Any
    ndim: int
    size: int
    varying: frozenset[Any]
    cut: Any
    weak_type: bool
    constant: bool

    def __new__(cls, inner_aval: ShapedArray, constant: bool = False) -> AbstractRef:
        """The type of references to arrays of that type."""
        return _types.find((inner_aval, constant), lambda: cls._of(inner_aval, constant))

    @classmethod
    def _of(cls, inner_aval: ShapedArray, constant: bool) -> AbstractRef:
        made = object.__new__(cls)
        made.inner_aval, made.constant = inner_aval, constant
        for name in ("shape", "dtype", "ndim", "size", "varying", "cut", "weak_type"):
            setattr(made, name, getattr(inner_aval, name))
        return made

    def cut_by(self, cut: Any) -> AbstractRef:
        """The type of references to arrays that are cut in this way."""
        return AbstractRef(self.inner_aval.cut_by(cut), self.constant)

    def row(self) -> AbstractRef:
        """The type of references to one row of the arrays."""
        return AbstractRef(self.inner_aval.row(), self.constant)

    def stacked(self, length: Any) -> AbstractRef:
        """The type of references to so many of the arrays, one after the other."""
        return AbstractRef(self.inner_aval.stacked(length), self.constant)

    def update(self, **parts: Any) -> AbstractRef:
        """The type with some parts of the array's replaced."""
        return AbstractRef(self.inner_aval.update(**parts), self.constant)

    def str_short(self) -> str:
        """The usual abbreviation, as in `Ref{f32[3]}`."""
        return f"Ref{{{self.inner_aval.str_short()}}}"

    def __repr__(self) -> str:
        return f"Ref{{{self.inner_aval!r}}}"

    def __reduce__(self) -> tuple[Any, ...]:
        return AbstractRef, (self.inner_aval, self.constant)


_types: Final = Interned[tuple[ShapedArray, bool], AbstractRef]()


class Ref:
    """A reference to an array that can be written: read it by `ref[...]`, write `ref[...] = x`.

    References are made by `new_ref`. They are compared by identity and are no arrays: functions
    take what is read from them.
    """

    __slots__ = ("__weakref__", "handler", "type")

    handler: Any
    type: AbstractRef

    if TYPE_CHECKING:  # effax.api.references.references defines these, in terms of effects
        at: Any
        shape: tuple[int, ...]
        dtype: Any
        ndim: int
        size: int
        get: Callable[..., Any]
        set: Callable[..., None]
        swap: Callable[..., Any]
        addupdate: Callable[..., None]

        def __getitem__(self, idx: Any) -> Any: ...
        def __setitem__(self, idx: Any, value: Any) -> None: ...
        def __len__(self) -> int: ...

    def read(self) -> Any:
        """The contents; runs at, or further in than, the handler that answers."""
        raise NotImplementedError(type(self).__name__)

    def write(self, value: Any) -> None:
        """Replace the contents."""
        raise NotImplementedError(type(self).__name__)


class OwnedRef(Ref):
    """A reference where it was made: it holds the value.

    `shared` is whether others may hold the same value, which can't then be written over; `frame`
    is the user's line that made it, for those made while a function is traced.
    """

    __slots__ = ("contents", "frame", "shared")

    def __init__(self, handler: Any, value: Any) -> None:
        self.handler = handler
        self.frame = user_frame() if handler.records else None
        self.type = AbstractRef(typeof(value))
        self.contents = value
        self.shared = True

    def held(self) -> Any:
        """The value it holds, for a look that ends before the next write.

        Raises `RefError` for a reference that was freed.
        """
        if self.contents is None:
            raise RefError(f"a reference of type {self.type!r} was used after free_ref freed it")
        return self.contents

    def read(self) -> Any:
        """The value it holds."""
        self.shared = True
        return self.held()

    def unsafe_buffer_pointer(self) -> int:
        """Return the address of the memory of the value, until the next write."""
        return int(self.held().unsafe_buffer_pointer())

    def write(self, value: Any) -> None:
        """Hold another value from now on."""
        self.held()
        self.contents = value
        self.shared = True


class Given(Ref):
    """A reference that a program being recorded takes: what is done to it is recorded."""

    __slots__ = ("variable",)

    if_escaped: ClassVar[str] = (
        " If a rule of custom_vjp writes the reference while the derivative is taken, let the "
        "body of the scan close over the reference that it scans, and index it."
    )

    def __init__(self, handler: Any, variable: Any) -> None:
        self.handler = handler
        self.type = variable.type
        self.variable = variable

    def read(self) -> Any:
        """A variable for the contents."""
        return self.handler.perform(ref_get, (self,), {})

    def write(self, value: Any) -> None:
        """An equation that writes."""
        self.handler.perform(ref_set, (self, value), {})


class Window(Ref):
    """A reference as a handler sees it: its contents are made of those of others, outside.

    `get()` gives the value, `put(value)` takes it apart; both run outside the handler.
    """

    __slots__ = ("get_value", "put_value")

    def __init__(
        self,
        handler: Any,
        type: ShapedArray,
        get: Callable[[], Any],
        put: Callable[[Any], None],
        constant: bool = False,
    ) -> None:
        self.handler = handler
        self.type = AbstractRef(type, constant)
        self.get_value = get
        self.put_value = put

    def read(self) -> Any:
        """The value made of the others' contents."""
        with outside(self.handler.outer):
            return self.get_value()

    def write(self, value: Any) -> None:
        """Write the value's parts to the others."""
        with outside(self.handler.outer):
            self.put_value(value)


REFERENCES.update((OwnedRef, Given, Window))
register_type(Ref, lambda ref: ref.type)


class StateEffect(Effect):
    """An effect on a reference, answered by the handler where the reference was made.

    `answer(ref, *values)` is what that handler does.
    """

    __slots__ = ("answer",)

    def __init__(self, name: str, *, answer: Callable[..., Any], **described: Any) -> None:
        super().__init__(name, **described)
        self.answer = answer

    def __call__(self, ref: Ref, *values: Any, **attributes: Any) -> Any:
        """Perform it: ask from the top of the stack outwards, up to that handler.

        A handler on the way is asked for its rule when a value is its own, for that would be kept
        where the handler has no say; or when it minds all writes.
        """
        if not isinstance(ref, Ref):
            raise RefError(
                f"Can only call `{self.name}` on a `Ref`, not on {ref!r}; make one by new_ref"
            )
        for x in values:
            if isinstance(x, Carrier) and not x.handler.live:
                raise UnexpectedTracerError.escaped(x)
        asked = innermost()
        while asked is not ref.handler:
            if asked is bottom:
                raise UnexpectedTracerError.escaped(ref)
            minds = values and (any(map(asked.holds, values)) or asked.answers(self, attributes))
            if asked.captures or minds:
                return asked.perform(self, (ref, *values), attributes)
            asked = asked.outer
        self.infer((ref.type, *map(typeof, values)), attributes)  # type: ignore[arg-type]
        return self.answer(ref, *values)


def _read(ref: Ref) -> Any:
    return ref.read()


def _write(ref: Ref, value: Any) -> list[Any]:
    ref.write(value)
    return []


class Creation(Effect):
    """The effect that makes a reference: whoever is asked first answers."""

    __slots__ = ()

    def __call__(self, *operands: Any, **attributes: Any) -> OwnedRef:
        """A reference to a value, whose home is the handler on top of the stack."""
        (value,) = operands
        self.infer((typeof(value),), {})
        return OwnedRef(innermost(), value)


def takes_references(program: Program) -> bool:
    """Whether some inputs of a program are references."""
    return any(isinstance(t, AbstractRef) for t in program.in_types)


def _new_type(x: Any) -> Any:
    if type(x) is AbstractRef:
        raise RefError(f"new_ref takes an array, not a reference of type {x!r}; read it: ref[...]")
    return AbstractRef(x)


def _get_type(ref: AbstractRef) -> ShapedArray:
    return ref.inner_aval


def _set_type(ref: AbstractRef, value: ShapedArray) -> Sequence[ShapedArray]:
    inner = ref.inner_aval
    if value.shape != inner.shape or value.dtype != inner.dtype:
        what = "shape" if value.shape != inner.shape else "dtype"
        raise RefError(
            f"Invalid {what} for `ref_set`: the reference has the type {inner.str_short()}, "
            f"and the value {value.str_short()}"
        )
    return ()


new_ref = Creation("new_ref", family=FAMILY, typing=_new_type, row=FAMILY, references=True)
"""`new_ref(x)`: a reference with these contents."""

ref_get = StateEffect(
    "ref_get", answer=_read, family=FAMILY, typing=_get_type, row=FAMILY, references=True
)
"""`ref_get(ref)`: the contents."""

ref_set = StateEffect(
    "ref_set",
    answer=_write,
    family=FAMILY,
    typing=_set_type,
    multiple=True,
    row=FAMILY,
    references=True,
)
"""`ref_set(ref, x)`: the contents are `x` from now on, of the same shape and dtype."""
