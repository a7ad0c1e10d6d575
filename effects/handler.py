"""Handlers: installations of an interpreter on the stack, and the carriers they own."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ClassVar, Final

from effax.effects.config import trace_key
from effax.effects.contexts import put, put_back
from effax.effects.dtypes import is_inexact
from effax.effects.errors import (
    UNKNOWN,
    ConcretizationTypeError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
    why_unknown,
)
from effax.effects.leaks import ended
from effax.effects.value import Value, require_one_element

if TYPE_CHECKING:
    from effax.effects.effect import Effect

Rule = Callable[..., Any]


class Bottom:
    """The handler under all others, and all that the kernel is given by the layers above it.

    It is the stack's value where nothing is installed, so `current.get() is bottom` is the whole
    test for the fast path. The kernel imports nothing from above: where it needs an answer from
    there, it asks `bottom`, whose attributes `effax.api.surface.start` sets.
    """

    __slots__ = ("__weakref__", "bind", "discharge", "perform", "sharding_of", "together")

    outer: ClassVar[None] = None
    live: ClassVar[bool] = True
    label: ClassVar[str] = ""
    records: ClassVar[bool] = False
    captures: ClassVar[bool] = False

    perform: Callable[[Effect, tuple[Any, ...], dict[str, Any]], Any]
    """Computes an effect on arrays: the evaluator of a back-end."""
    together: Callable[[Any, Callable[..., Any], Sequence[Any]], tuple[list[Any], Any] | None]
    """Computes what a function of several effects performs as one operation; see `Handler`."""
    discharge: Callable[[Effect, tuple[Any, ...], dict[str, Any]], Any]
    """Performs a higher-order effect that is given references, on values made of their contents."""
    bind: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]
    """Performs an effect with parameters by JAX's names, for programs that bind its primitives."""
    sharding_of: Callable[..., Any]
    """Makes the `sharding` that a type describes, over a mesh where the type itself names none."""


bottom: Final = Bottom()
current: Final[ContextVar[Any]] = ContextVar("effax.handler", default=bottom)


def innermost() -> Any:
    """The handler on top of the stack; one that has ended counts as absent.

    A context that was copied while a function was traced (by an asyncio task, by `copy_context`)
    keeps the handlers of that moment. Those that have ended since are taken off it here.
    """
    handler = current.get()
    if not handler.live:
        while not handler.live:
            handler = handler.outer
        put(current, handler)
    return handler


_INSTEAD: Final = "To convert the dtype while tracing, try using `x.astype({})`."


class Carrier(Value):
    """A value in an interpreter's domain, owned by one handler.

    Unlike arrays, carriers hash by identity: they may key dictionaries while their handler lives.
    """

    __slots__ = ("__weakref__", "handler")

    handler: Any

    __hash__ = object.__hash__

    @property
    def _trace(self) -> Any:
        """The handler, by the private name that libraries ask JAX's tracers for."""
        return self.handler

    def concrete(self) -> Any:
        """The array with the elements, or None if they are not known.

        An interpreter whose carrier holds the value itself (a primal) returns it.
        """
        return None

    def left(self) -> Any:
        """Return a stand-in for the carrier once its handler has ended: by default itself, useless.

        An interpreter whose carrier holds the value itself (a primal) returns it. Auxiliary results
        of derivatives leave them so.
        """
        return self

    def why_unknown(self) -> str:
        """Sentences for an error message: the line, and the reason why elements are not known."""
        return why_unknown(self)

    def _concrete(self, error: type[Exception], *context: str) -> Any:
        value = self.concrete()
        if value is None:
            raise error(self, *context)
        return value

    def __bool__(self) -> bool:
        require_one_element(self)
        return bool(self._concrete(TracerBoolConversionError))

    def __index__(self) -> int:
        return operator.index(self._concrete(TracerIntegerConversionError))

    def __int__(self) -> int:
        return int(self._concrete(ConcretizationTypeError, _INSTEAD.format("int")))

    def _exact(self, context: str) -> Any:
        """The elements for Python, which would lose what an inexact number carries beside them."""
        if is_inexact(self.dtype):
            raise ConcretizationTypeError(self, context)
        return self._concrete(ConcretizationTypeError, context)

    def __float__(self) -> float:
        return float(self._exact(_INSTEAD.format("float")))

    def __complex__(self) -> complex:
        return complex(self._exact(_INSTEAD.format("complex")))

    def __array__(self, *args: Any, **keywords: Any) -> Any:
        raise TracerArrayConversionError(self)

    @property
    def sharding(self) -> Any:
        """Refused: a traced value is on no device yet; its type has the sharding that is known."""
        raise AttributeError(
            "a traced value has no attribute 'sharding', as it lies on no device yet; "
            "typeof(x).sharding is the sharding in its type"
        )

    def item(self, *args: Any) -> Any:
        """The element as a Python number; raises `ConcretizationTypeError` where unknown."""
        return self._concrete(ConcretizationTypeError).item(*args)

    def is_deleted(self) -> bool:
        """Whether the memory was given away; `ConcretizationTypeError` where there is none."""
        context = "is_deleted() asks for the memory of an array."
        return bool(self._concrete(ConcretizationTypeError, context).is_deleted())

    def tolist(self) -> Any:
        """The elements of exact numbers; `ConcretizationTypeError` for others, or where unknown."""
        return self._exact(
            f"The tolist() method was called on traced array with shape {self.type.str_short()}."
        ).tolist()

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object: the value is a scalar")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return iter([self[i] for i in range(self.shape[0])])

    def __setitem__(self, index: Any, value: Any) -> None:
        raise TypeError(
            "traced arrays are immutable and do not support item assignment; instead of x[idx] = "
            "y write x = x.at[idx].set(y), or another .at[] method"
        )

    def contents(self) -> dict[str, Any]:
        """The outer values to be shown for it, by name: its elements, where they are known.

        An interpreter whose carrier holds several values returns them all.
        """
        value = self.concrete()
        return {} if value is None else {"value": value}

    def __repr__(self) -> str:
        """The type, the transform, and the values that are known, which may have to be computed."""
        handler = self.handler
        text = f"Traced<{self.type.str_short()}>"
        if handler is None or not handler.live:
            return text
        parts = [f"{name} {_shown(x)}" for name, x in self.contents().items()]
        known = f", with {' and '.join(parts)}" if parts else ""
        return f"{text}{' of ' * bool(handler.transform)}{handler.transform}{known}"

    def __format__(self, spec: str) -> str:
        value = self.concrete() if spec else None
        if value is not None:
            return format(value, spec)
        if spec:
            raise TypeError(
                f"unsupported format string {spec!r}: the elements of {self!r} are not known while "
                "the function is traced. effax.debug.print prints them when the function runs"
            )
        return repr(self)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __reduce__(self) -> Any:
        raise ConcretizationTypeError(
            self, "Pickling needs the elements of an array: return it from the function first."
        )

    def block_until_ready(self) -> Any:
        """The value itself: a traced value has nothing to wait for."""
        return self


def _shown(x: Any) -> str:
    if isinstance(x, Carrier):
        return f"({x!r})"
    is_deleted = getattr(x, "is_deleted", None)
    return "(deleted)" if is_deleted is not None and is_deleted() else str(x)


class Handler:
    """One installation of an interpreter; it knows the handler outside it.

    A rule runs *outside* its own handler: while it works, the top of the stack is `outer`. A
    handler opens only the carriers that are its own and takes any other value for a constant;
    an effect none of whose operands it owns is performed outside, unchanged. These two lines
    give nesting and rule out perturbation confusion.

    A subclass gives `carrier`, and `handle(effect, operands, attributes)`, which runs with the
    top of the stack already moved out.
    """

    __slots__ = ("__weakref__", "live", "outer")

    carrier: ClassVar[type[Any]]
    label: ClassVar[str] = ""
    """The label that this handler puts around named scopes, as in `jvp(x)`. Empty: none."""
    owned: ClassVar[str] = ""
    """A phrase for its values in error messages, `a traced value`. Empty: the names of classes."""
    reason: ClassVar[str] = UNKNOWN
    """A sentence for error messages: the reason why elements of its values are not known."""
    remedy: ClassVar[str] = ""
    """A way to know the elements of its values, for error messages: `leave it out of the mapping`.
    Empty: there is none."""
    traced: Any = None
    """The user's function that it records, a `TracedFunction`, where it is known."""
    records: ClassVar[bool] = False
    """Whether it records equations. Then it has `scope`, the named scopes around them, and
    `scoped`, the handler that they are relative to; and its carriers are variables of a program,
    which may outlive it."""
    linear: ClassVar[bool] = False
    """Whether its recording is linear in unknowns, and is walked backwards while all values in
    it are live."""
    together: ClassVar[Any] = None
    """`together(key, function, values)`, if the handler has a shorter way to perform a function
    of several effects: it returns the function's results, and whatever the function returns
    beside them. The function performs the same effects for the same key and types of values; the
    result is None where the function has to be called."""
    at_once: ClassVar[bool] = False
    """Whether what is done to arrays alone is done as if no handler were installed."""
    lanes: ClassVar[bool] = False
    """Whether it does each effect for all lanes of a batch, whose number and types it knows."""
    captures: ClassVar[bool] = False
    """Whether its recording is closed: values from further out become inputs, and operations on
    references from there are recorded too."""

    def __init__(self, outer: Any = None) -> None:
        self.outer = innermost() if outer is None else outer
        self.live = True

    @property
    def transform(self) -> str:
        """The transform that installed it, as its values show it. Empty: unknown."""
        return self.label or (self.traced.transform if self.traced is not None else "")

    @property
    def main(self) -> Any:
        """The handler itself, which libraries ask for by a name that JAX once had."""
        return self

    def owns(self, value: Any) -> bool:
        """Whether the value is a carrier of this very handler."""
        return type(value) is self.carrier and value.handler is self

    def holds(self, value: Any) -> bool:
        """Whether the value is a carrier of this handler, or of a handler that works for it."""
        return self.owns(value)

    def answers(self, effect: Effect, attributes: dict[str, Any]) -> bool:
        """Whether the effect is this handler's to answer even without an operand of its own."""
        return False

    def concrete(self, value: Any) -> Any:
        """The elements of a variable of this handler as an array, or None: they are not known."""
        return None

    def perform(self, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """Answer the effect if an operand is owned, else pass it outside."""
        carrier = self.carrier
        for x in operands:
            if type(x) is carrier and x.handler is self:
                break
        else:
            if not (effect.answerable and self.answers(effect, attributes)):
                return self.outer.perform(effect, operands, attributes)
        token = put(current, self.outer)
        try:
            return self.handle(effect, operands, attributes)
        finally:
            current.reset(token)

    def handle(self, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """Compute the meaning of the effect under this handler; runs outside the handler."""
        raise NotImplementedError(f"{type(self).__name__} has no meaning for {effect}")

    @contextmanager
    def installed(self) -> Iterator[Any]:
        """Put the handler on top of the stack for the length of a `with` block; then it is dead."""
        token = put(current, self)
        try:
            yield self
        finally:
            self._end(token)

    def run(self, function: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
        """Call a function with the handler on top of the stack."""
        token = put(current, self)
        try:
            return function(*args, **keywords)
        finally:
            self._end(token)

    def _end(self, token: Any) -> None:
        put_back(token)
        self.live = False
        if trace_key().check_tracer_leaks and not self.records:
            ended(self)


@contextmanager
def outside(handler: Any) -> Iterator[None]:
    """Perform what follows with `handler` on top of the stack (to work outside one's own)."""
    token = put(current, handler)
    try:
        yield
    finally:
        current.reset(token)


def stack() -> list[Any]:
    """The handlers installed, innermost first, without the bottom."""
    handlers, handler = [], innermost()
    while handler is not bottom:
        handlers.append(handler)
        handler = handler.outer
    return handlers
