"""Dispatch: from an effect or a program, and arrays, to an executable that runs on them."""

from __future__ import annotations

import contextlib
import logging
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from effax.backends.xla import ledger, reshard, scalars
from effax.backends.xla.array import Array, asarray, buffer_of, spec_of
from effax.backends.xla.client import refuse_fork
from effax.backends.xla.executable import (
    compile_text,
)
from effax.backends.xla.launch import Executor, Launch
from effax.backends.xla.layout import ModuleMesh, ProgramLayout, alone, layout_of
from effax.backends.xla.ledger import Work
from effax.backends.xla.lowering.writer import answered, module_text
from effax.backends.xla.placement import Placement, Sharding, Spec, default, replicated
from effax.backends.xla.scalars import constant, number
from effax.backends.xla.special_values import Checked
from effax.effects.config import read, trace_key
from effax.effects.effect import LITERALS, Effect
from effax.effects.errors import UnexpectedTracerError, UnhandledEffectError
from effax.effects.handler import Carrier
from effax.effects.mesh import placed_by
from effax.effects.program import Program, programs_in
from effax.effects.rows import shape
from effax.effects.rows.callback import inspections
from effax.effects.rows.control import call
from effax.effects.types import ShapedArray, is_extended, typeof
from effax.interpreters.functor.ordering import has_ordered, in_order
from effax.interpreters.stage import stage

_log: Final = logging.getLogger("effax")

host_rules: Final[dict[Effect, Callable[..., Any]]] = {}
"""Effects that are answered on the host when nothing is staged: callbacks, checks."""

PATIENCE: Final = 60.0
"""Seconds of compilation after which a program is named."""
_NO_OPTIONS: Final[Mapping[str, Any]] = MappingProxyType({})
LIMIT: Final = 8192
_singles: Final[dict[Any, Launch]] = {}
joined: Final[dict[Any, tuple[Launch, Any] | None]] = {}
"""The launches that `together` has compiled."""
_by_text: Final[weakref.WeakValueDictionary[Any, Any]] = weakref.WeakValueDictionary()


def operand(x: Any) -> Any:
    """Return the array that an executable takes for a value; numbers share constants.

    Raises `UnexpectedTracerError` for a carrier, `TypeError` for what is no array.
    """
    kind = type(x)
    if kind is Array:
        return x
    if kind in LITERALS:
        return number(x)
    if isinstance(x, Carrier):
        raise UnexpectedTracerError.escaped(x)
    return asarray(x)


def evaluate(effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
    """Perform an effect on arrays: what the stack's bottom does.

    Each effect is a program of one equation, compiled once for the types, placements and
    attributes it meets. Python numbers are passed as scalars, so their values compile nothing.
    """
    try:  # arrays in, one array out: the common case
        key = (trace_key(), effect, *map(spec_of, operands), *attributes.items())
        launch = _singles.get(key)
    except AttributeError:
        launch = None
    if launch is not None:
        return launch([*map(buffer_of, operands)])
    host = host_rules.get(effect)
    if host is not None:
        return host(*operands, **attributes)
    given: list[Any] = []
    kinds: list[Any] = []  # the spec of an array; the class of a number, on which its type depends
    for x in operands:
        if type(x) is not Array:
            if effect.literals and type(x) in LITERALS:
                given.append(x)
                kinds.append(type(x))
                continue
            x = _entered(x, effect, operands)
        given.append(x.buffer)
        kinds.append(x.spec)
    # The executables of a higher-order effect live as long as the first of its programs.
    cache = next(programs_in(attributes)).memo if effect.higher_order else _singles
    key = (trace_key(), effect, *kinds, *attributes.items())
    launch = cache.get(key)
    if launch is None:
        launch = _launch(effect, operands, kinds, attributes)
        if cache is _singles and len(cache) >= LIMIT:
            cache.clear()
        cache[key] = launch
    return launch(given)


def _entered(x: Any, effect: Effect, operands: tuple[Any, ...]) -> Array:
    """An operand that is neither an array nor a literal, such as a NumPy array, on the device."""
    if isinstance(x, Carrier):
        raise UnexpectedTracerError.escaped(x)
    try:
        return asarray(x)
    except TypeError:
        if not is_extended(typeof(x).dtype):
            raise
        dtypes = dict.fromkeys(typeof(y).dtype.name for y in operands)
        shown = f"dtypes {', '.join(dtypes)}" if len(dtypes) > 1 else f"dtype {next(iter(dtypes))}"
        raise TypeError(f"{effect.name} does not accept {shown}") from None


def _launch(
    effect: Effect, operands: tuple[Any, ...], kinds: Sequence[Any], attributes: dict[str, Any]
) -> Launch:
    """Compile an effect for operands of these kinds: specs, or classes of numbers."""
    refuse_execution(effect.name)
    literal = [type(kind) is type for kind in kinds]
    types = tuple(None if n else typeof(x) for x, n in zip(operands, literal, strict=True))
    where = next((x.spec.placement for x in operands if type(x) is Array), None) or default()
    if where.split:
        where = replicated(where.devices)
    specs: list[Spec] = []
    numbers: list[tuple[int, ShapedArray]] = []
    for i, kind in enumerate(kinds):
        if literal[i]:
            scalar = effect.literal_type(operands[i], types).update(shape=())
            numbers.append((i, scalar))
            kind = Spec(scalar, where)
        specs.append(kind)

    def body(*values: Any) -> Sequence[Any]:
        ready = []
        for value, is_literal in zip(values, literal, strict=True):
            if is_literal:
                peer = effect.literal_type(0, types)
                if peer.shape:
                    value = shape.broadcast_in_dim(value, shape=peer.shape, dims=())
            ready.append(value)
        result = effect(*ready, **attributes)
        return result if effect.multiple else (result,)

    effect.infer(types, attributes)
    staged = stage(body, [s.type for s in specs], effect.name)
    mesh = attributes.get("mesh") if effect is call else None
    with contextlib.nullcontext() if mesh is None else placed_by(mesh):
        layout = layout_of(specs, staged.program, what=effect.name)
    leaf = not effect.higher_order
    executor = compile_program(staged.program, layout, single_op=leaf, shared=leaf)
    launch = executor.gather(specs, layout).launch(list if effect.multiple else None)
    if not numbers:
        return launch

    def with_numbers(given: list[Any]) -> Any:
        for i, scalar in numbers:
            given[i] = constant(given[i], scalar, where)
        return launch(given)

    return with_numbers


def refuse_execution(name: str) -> None:
    """Raise `RuntimeError` if nothing may run here: by a setting, or in a forked process.

    What runs is cached by the settings, which a fork renews.
    """
    refuse_fork()
    if trace_key().no_execution:
        raise RuntimeError(
            f"effax tried to execute {name}, but the no_execution config option is set"
        )


def compile_program(
    program: Program,
    placement: ProgramLayout | Placement | None = None,
    committed: bool = False,
    donate: Sequence[int] = (),
    single_op: bool = False,
    called: bool = False,
    shared: bool = False,
    captured: Sequence[Array] = (),
    options: Mapping[str, Any] = _NO_OPTIONS,
    work: Work | None = None,
) -> Executor:
    """Lower a program and compile it for one device or a layout, with XLA's flags `options`.

    What is done is counted in `work`, or where there is none under the program's name. A program
    that is `shared` is not of its caller's lines, see `Checked`.
    Raises `UnhandledEffectError` when the program's effect row holds what XLA can't answer.
    """
    check_row(program)
    layout = placement if isinstance(placement, ProgramLayout) else alone(placement, committed)
    where = layout.where
    if layout.is_single:
        for tell in inspections(program):
            tell(where)
    asked: list[Any] = []
    text, callbacks = lower(program, layout, asked=asked)
    key = text, where, tuple(donate), tuple(options.items())
    kept = not callbacks and not asked
    executable = _by_text.get(key) if kept else None
    if executable is None:
        level = logging.WARNING if read("log_compiles") else logging.DEBUG
        if _log.isEnabledFor(level):
            types = ", ".join(t.str_short() for t in program.in_types)
            told = "Compiling jit(%s) for %s, with arguments of types %s"
            _log.log(level, told, program.name, where, types)
        with contextlib.nullcontext() if single_op else _said_if_long(program):
            executable = compile_text(
                text,
                placement=where,
                out_types=program.out_types,
                donate=tuple(donate),
                host_callbacks=tuple(callbacks),
                # The process must not exit while several devices are in the middle of a callback.
                effectful="callback" in program.row or bool(callbacks and not where.is_single),
                ordered=has_ordered(program),
                single_op=single_op,
                persistent=not asked,
                called=called,
                options=options,
            )
        work = ledger.of_operation(program.name) if work is None else work
        work.compiled(executable.seconds, executable.from_disk)
        told = "Finished XLA compilation of jit(%s) in %.6f s%s"
        found = ": it was found on disk" if executable.from_disk else ""
        _log.log(level, told, program.name, executable.seconds, found)
        if kept:
            _by_text[key] = executable
    if asked:
        from effax.backends.xla import inspecting

        inspecting.tell(asked, layout)
    executor = Executor(
        executable, _result_specs(program, layout, executable), captured, bool(donate)
    )
    if donate:
        from effax.backends.xla.donation import warn_of_unusable

        warn_of_unusable(program, donate)
    if read("debug_nans") or read("debug_infs"):
        executor.checked = Checked(program, shared)
    return executor


@contextlib.contextmanager
def _said_if_long(program: Program) -> Iterator[None]:
    """Log a warning while a program is compiling for longer than `PATIENCE`."""

    def say() -> None:
        from effax.backends.xla.patience import description

        told = "jit(%s) has been compiling for %.0f s: %s"
        _log.warning(told, program.name, PATIENCE, description(program))

    clock = threading.Timer(PATIENCE, say)
    clock.daemon = True
    clock.start()
    try:
        yield
    finally:
        clock.cancel()


def _result_specs(program: Program, layout: ProgramLayout, executable: Any) -> list[Spec]:
    outs: Sequence[Sharding | None] = layout.outs or (None,) * len(program.out_types)
    if layout.is_single:
        places = [layout.where] * len(outs)
    else:
        places = [spec.placement for spec in executable.out_specs]
    return [
        Spec(t, place, layout.committed, layout.name(place, t.ndim, asked))
        for t, place, asked in zip(program.out_types, places, outs, strict=True)
    ]


def lower(
    program: Program,
    placement: ProgramLayout | Placement | None = None,
    platform: str | None = None,
    located: bool = False,
    asked: list[Any] | None = None,
) -> tuple[str, list[Callable[..., Any]]]:
    """The StableHLO text of a program for a platform, and the host functions it calls.

    With locations if `located`, and in any case where a scope has a name. Those who ask where a
    value lies are put in the list `asked`, if there is one, for the compiler to tell them.
    """
    layout = placement if isinstance(placement, ProgramLayout) else alone(placement)
    if platform is None:
        platform = layout.where.device.platform
    ordered = in_order(program)
    mesh = None if layout.is_single else ModuleMesh.of(layout, ordered)
    if mesh is None and platform == "cpu" and is_long(ordered):
        from effax.backends.xla.pieces.program import cut
        from effax.backends.xla.pieces.slices import stepped
        from effax.backends.xla.pieces.sums import together

        ordered = stepped(cut(together(ordered)))
    return module_text(ordered, platform, located=located, layout=layout, mesh=mesh, asked=asked)


def is_long(program: Program) -> bool:
    """Whether a program has many equations, when those of functions count at each call.

    Very long ones don't count: written out, what their functions share would be lost.
    """
    return LEAST <= _length(program, {}) <= _MOST


LEAST: Final = 400
"""Programs with fewer equations are short: XLA compiles them in less than half a second."""
_MOST: Final = 100_000


def _length(program: Program, known: dict[Program, int]) -> int:
    found = known.get(program)
    if found is None:
        found = len(program.equations)
        for e in program.equations:
            if e.effect is call:
                found += _length(e.attributes["program"], known)
        known[program] = found
    return found


def clear() -> None:
    """Forget the executables of single effects, and those found by their text."""
    for cache in (_singles, joined):
        cache.clear()
    scalars.clear()
    _by_text.clear()
    reshard.clear()


_HANDLER_FOR: Final = {
    "check": "checkify.checkify",
    "sample": "seed",
    "state": "jit (whose calls discharge references)",
}


def check_row(program: Program) -> None:
    """Refuse a program that leaves something unanswered that XLA can't answer.

    The error says who asks, with types and lines, and what would answer.
    """
    if program.row <= answered:
        return
    from effax.effects.asked import answerer_of

    for entry in sorted(program.row - answered):
        if entry.startswith("axis "):
            name = entry.removeprefix("axis ")
            raise NameError(
                f"unbound axis name: {name}. The program performs a collective over an axis that "
                f"no handler binds, {_asked_for(program, entry)}; wrap it in "
                f"vmap(..., axis_name={name!r}) or pmap"
            )
        wanted = answerer_of(entry, _HANDLER_FOR)
        check = "Cannot abstractly evaluate a checkify.check: " if entry == "check" else ""
        raise UnhandledEffectError(
            f"{check}this program performs `{entry}`, which XLA can't answer: "
            f"{_asked_for(program, entry)}; wrap it in {wanted} first"
        )


def _asked_for(program: Program, entry: str) -> str:
    """The effects that ask for an entry of the row: at most three of them."""
    found = [str(one) for one in program.row.asked if one.name == entry]
    more = f", and {len(found) - 3} more" if len(found) > 3 else ""
    return ", ".join(found[:3]) + more
