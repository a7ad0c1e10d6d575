"""Executables: what dispatch calls, and what a user can learn about a compiled program."""

from __future__ import annotations

import atexit
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NoReturn

from effax.backends.xla import compile as compiling
from effax.backends.xla import execution_errors
from effax.backends.xla.client import XlaRuntimeError
from effax.backends.xla.placement import Placement, Spec, from_hlo
from effax.effects.types import ShapedArray

__all__ = ["Executable", "XlaRuntimeError", "compile_text", "effects_barrier", "explain_failure"]

_launching: Final = threading.RLock()


class Executable:
    """A compiled program on its devices.

    Calling it is `run(buffers).consume_with_handlers(handlers)`, a list of buffers in and out;
    `execute` says just that. A dispatcher that inlines it must look at `effectful` first: a program
    with side effects is to be called by `execute`, which remembers what `effects_barrier` must
    wait for. XLA checks the byte sizes of operands and nothing else: calling with operands of
    other types or placements than compiled for gives nonsense.

    `seconds` is how long it took to make, `from_disk` whether it was found there.
    """

    __slots__ = (
        "__weakref__",
        "committed_specs",
        "effectful",
        "from_disk",
        "handlers",
        "ordered",
        "out_specs",
        "placement",
        "raw",
        "run",
        "seconds",
    )

    def __init__(
        self,
        raw: Any,
        placement: Placement,
        out_specs: Sequence[Spec],
        effectful: bool,
        ordered: bool = False,
    ) -> None:
        self.raw = raw
        self.run: Callable[..., Any]
        if placement.device.backend.absent:
            self.run = self._refuse  # jaxlib's executable for an absent device can't be launched
        elif len(placement.devices) > 1:
            self.run = self._launch_on_all
        else:
            self.run = raw.execute_sharded
        self.placement = placement
        self.out_specs = [spec.update(committed=False) for spec in out_specs]
        self.committed_specs = [spec.update(committed=True) for spec in out_specs]
        self.handlers = [spec.handler for spec in out_specs]
        self.effectful = effectful
        self.ordered = ordered
        self.seconds = 0.0
        self.from_disk = False

    def execute(self, buffers: Sequence[Any]) -> list[Any]:
        """The results' buffers; returns before they are computed.

        Raises `XlaRuntimeError`, e.g. for operands that were deleted (see `explain_failure`).
        """
        if not self.effectful:
            results: list[Any] = self.run(buffers).consume_with_handlers(self.handlers)
            return results
        if self.ordered:
            effects_barrier()  # order its effects after those of programs called before
        outcome = self.run(buffers, with_tokens=True)
        _remember(outcome.consume_token())
        results = outcome.consume_with_handlers(self.handlers)
        return results

    def as_text(self) -> str:
        """The optimized program, in HLO."""
        return "\n\n".join(module.to_string() for module in self.raw.hlo_modules())

    def cost_analysis(self) -> dict[str, float] | None:
        """Estimates by the compiler: "flops", "bytes accessed", ...; None where it has none."""
        try:
            costs = self.raw.cost_analysis()
        except XlaRuntimeError:
            of = self.placement.device.backend
            return compiling.costs(self.raw.hlo_modules()[0], of) if of.absent else None
        return dict(costs[0] if isinstance(costs, list) else costs)

    def memory_analysis(self) -> Any:
        """Sizes in bytes of operands, results, temporaries and code, as attributes; or None."""
        try:
            return self.raw.get_compiled_memory_stats()
        except XlaRuntimeError:
            return None

    @property
    def fingerprint(self) -> bytes | None:
        """A digest of the program and what it was compiled for."""
        found: bytes | None = getattr(self.raw, "fingerprint", None)
        return found

    def serialize(self) -> bytes:
        """The executable as bytes, for a process with the same jaxlib and hardware."""
        if self.placement.device.backend.absent:
            return bytes(self.raw.serialize())
        return bytes(self.placement.device.client.serialize_executable(self.raw))

    def _launch_on_all(self, *operands: Any, **how: Any) -> Any:
        """Threads take turns, so that every device gets their collectives in one order.

        A device holds a bounded number of launches: one thread's can fill it, and wait on another
        device behind a collective of a second thread, whose launch waits for room on the first.
        """
        with _launching:
            return self.raw.execute_sharded(*operands, **how)

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise RuntimeError(
            f"this program was compiled for {self.placement.device!r}, which is not attached, so "
            "it can't run: serialize it, and load it where such a device is"
        )

    def __repr__(self) -> str:
        types = ", ".join(repr(spec.type) for spec in self.out_specs)
        return f"<executable on {self.placement!r} giving [{types}]>"


def compile_text(
    text: str,
    *,
    placement: Placement,
    out_types: Sequence[ShapedArray],
    out_placements: Sequence[Placement] | None = None,
    donate: Sequence[int] = (),
    host_callbacks: Sequence[Callable[..., Any]] = (),
    effectful: bool = False,
    ordered: bool = False,
    single_op: bool = False,
    persistent: bool = True,
    called: bool = False,
    options: compiling.Options | None = None,
) -> Executable:
    """The executable of a StableHLO program whose entry is `@main`.

    `placement` gives the devices: with n > 1 of them the program is partitioned over n (its text
    cuts arrays by `sdy` or `mhlo.sharding`), and `out_placements`, where not given, are what the
    compiler says. `donate` are positions of operands that are given away. `host_callbacks[k]` is
    what custom calls with `index = k` call: with NumPy arrays, for a tuple of them. `single_op`
    compiles quickly and keeps the result on disk; other programs are kept where the setting
    `compilation_cache_dir` asks for it, if `persistent`, and those that are `called` at once beside
    eager operations, if they are short or slow to compile. `options` are flags of XLA by name.

    Raises `XlaRuntimeError` for what XLA refuses, `ValueError` for impossible donations.
    """
    text = compiling.donate_operands(text, donate)
    raw, seconds, from_disk = compiling.load(
        text,
        placement,
        single_op=single_op,
        persistent=persistent,
        called=called,
        host_callbacks=host_callbacks,
        options=options,
    )
    if out_placements is None:
        out_placements = _result_placements(raw, placement, len(out_types))
    specs = [
        Spec(type, where, committed=True)
        for type, where in zip(out_types, out_placements, strict=True)
    ]
    made = Executable(raw, placement, specs, effectful, ordered)
    made.seconds, made.from_disk = seconds, from_disk
    if not placement.is_fully_addressable and not placement.device.backend.absent:
        from effax.backends.xla import agreement

        def plainly(run: Callable[..., Any]) -> None:
            made.run = run

        made.run = agreement.watched(
            made.run, text, placement, options or {}, raw.hlo_modules, plainly
        )
    return made


def _result_placements(raw: Any, placement: Placement, n: int) -> list[Placement]:
    if placement.is_single:
        return [placement] * n
    shardings = raw.get_output_shardings() if n else []
    if shardings is None:
        raise ValueError("the compiler does not say how results are placed: give out_placements")
    if len(shardings) == 1 and n > 1:
        shardings = shardings[0].tuple_shardings or list(shardings) * n
    return [from_hlo(placement.devices, sharding) for sharding in shardings]


def explain_failure(
    error: XlaRuntimeError,
    specs_and_buffers: Iterable[tuple[Spec, Any]],
    names: Sequence[str] = (),
) -> None:
    """Raise a clearer error if an operand was deleted, or donated and given twice.

    Otherwise return, so that the caller raises its own error; its cause is what a callback raised.
    A program that fails while it runs has taken the operands given to it: these are not why.

    Args:
      error: the error of XLA.
      specs_and_buffers: the operands.
      names: the user's names of those operands that are arguments, the last ones.
    """
    if str(error).startswith("INVALID_ARGUMENT"):
        operands = list(specs_and_buffers)
        refuse_deleted(operands)
        from effax.backends.xla.donation import refuse_repeated

        refuse_repeated(error, [spec.type for spec, _ in operands], names)
    execution_errors.explain(error)


def refuse_deleted(specs_and_buffers: Iterable[tuple[Spec, Any]]) -> None:
    """Raise JAX's `RuntimeError` if an operand was deleted.

    To be asked before a program for several devices is run: XLA does not notice, and crashes.
    """
    for spec, buffer in specs_and_buffers:
        if buffer.is_deleted():
            raise deleted(spec.type) from None


def deleted(type: ShapedArray) -> RuntimeError:
    """The error for an array whose memory was given away or deleted."""
    shape = ",".join(map(str, type.shape))
    return RuntimeError(
        f"Array has been deleted with shape={type.dtype.name}[{shape}]. Its memory was given to a "
        "call that donates it (donate_argnums), whose result is to be used instead, or was freed "
        "by delete()"
    )


# -------------------------------------------------------------------------------- side effects

_LIMIT: Final = 1024
_pending: Final[deque[Any]] = deque()
_exit_hooked: Final = threading.Event()


def _remember(token: Any) -> None:
    """Keep a token of effects under way; wait for the oldest if there are very many."""
    if not _exit_hooked.is_set():
        _exit_hooked.set()
        atexit.register(effects_barrier)
        if hasattr(os, "register_at_fork"):  # a child would wait for threads that it does not have
            os.register_at_fork(after_in_child=_pending.clear)
    _pending.append(token)
    if len(_pending) > _LIMIT:
        _pending.popleft().block_until_ready()


def effects_barrier() -> None:
    """Wait until the side effects of all programs called so far have happened.

    Raises the `XlaRuntimeError` of an effect that failed.

    >>> import effax
    >>> seen = []
    >>> effax.jit(lambda x: effax.debug.callback(seen.append, x))(1)
    >>> effax.effects_barrier()
    >>> len(seen)
    1
    """
    while _pending:
        try:
            _pending.popleft().block_until_ready()
        except XlaRuntimeError as error:
            execution_errors.explain(error)
            raise
