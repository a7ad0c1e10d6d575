"""Executors: compiled programs that are called with buffers and give arrays.

The one place where executables are run. Nearly all calls need nothing else: those go through a
*launch*, a function from the operands' buffers to the results that tests for nothing. Caches hold
launches, so that a call that was compiled before is a key, a look in a dictionary and a launch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from effax.backends.xla.array import Array, device_put
from effax.backends.xla.executable import XlaRuntimeError, explain_failure, refuse_deleted
from effax.backends.xla.layout import ProgramLayout
from effax.backends.xla.placement import Placement, Spec
from effax.backends.xla.special_values import Checked, look_for_special
from effax.effects.handler import bottom

Launch = Callable[[list[Any]], Any]
Build = Callable[[Iterable[Array]], Any]
"""Makes a function's results of the arrays that a program gives."""


class Executor:
    """An executable with the specs of its results: buffers in, arrays out."""

    __slots__ = (
        "captured",
        "checked",
        "donates",
        "executable",
        "in_specs",
        "moves",
        "names",
        "specs",
        "spread",
    )

    def __init__(
        self,
        executable: Any,
        specs: Sequence[Spec],
        captured: Sequence[Array] = (),
        donates: bool = False,
    ) -> None:
        self.executable = executable
        self.spread = not executable.placement.is_single
        self.specs = tuple(specs)
        self.captured = [x.buffer for x in captured]
        self.in_specs = [x.spec for x in captured]
        self.donates = donates
        self.names: Sequence[str] = ()  # the user's, of the operands that are no captured values
        self.moves: tuple[tuple[int, Spec, Placement], ...] = ()
        self.checked: Checked | None = None

    @property
    def direct(self) -> bool:
        """Whether calling is no more than running the executable on the operands."""
        special = self.moves or self.executable.effectful or self.checked or self.spread
        return not (special or self.captured)

    def launch(self, build: Build | None) -> Launch:
        """Return a function from the operands' buffers to the results.

        Args:
          build: makes the results of an iterable of arrays; None where they are one array.
        """
        if not self.direct:
            if build is None:
                return lambda buffers: self(buffers)[0]
            return lambda buffers: build(self(buffers))
        run, handlers, specs = self.executable.run, self.executable.handlers, self.specs
        explain = self._explain

        if build is None:
            (spec,) = specs

            def launch(buffers: list[Any]) -> Any:
                try:
                    return Array(run(buffers).consume_with_handlers(handlers)[0], spec)
                except XlaRuntimeError as error:
                    explain(error, buffers)
                    raise
        else:

            def launch(buffers: list[Any]) -> Any:
                try:
                    outs = run(buffers).consume_with_handlers(handlers)
                except XlaRuntimeError as error:
                    explain(error, buffers)
                    raise
                return build(map(Array, outs, specs))

        return launch

    def _explain(self, error: XlaRuntimeError, buffers: Sequence[Any]) -> None:
        explain_failure(error, zip(self.in_specs, buffers, strict=False), self.names)

    def gather(self, specs: Sequence[Spec], layout: ProgramLayout) -> Executor:
        """Note the operands' specs, and which lie elsewhere, to be moved at each call."""
        self.in_specs += specs
        places = layout.ins[len(self.captured) :] or (layout.where,) * len(specs)
        self.moves = tuple(
            (i, spec, place)
            for i, (spec, place) in enumerate(zip(specs, places, strict=True))
            if spec.placement is not place
        )
        return self

    def __call__(self, buffers: list[Any]) -> list[Array]:
        """Run on these buffers, the captured ones put before them."""
        if self.moves:
            buffers = self.moved(buffers)
        if self.donates and self.captured:
            self._keep_from(buffers)
        everything = self.captured + buffers if self.captured else buffers
        if self.spread:
            refuse_deleted(zip(self.in_specs, everything, strict=False))
        try:
            outs = self.executable.execute(everything)
        except XlaRuntimeError as error:
            self._explain(error, everything)
            raise
        results = [*map(Array, outs, self.specs)]
        if self.checked is not None:
            look_for_special(results, self.checked, self.in_specs, everything)
        return results

    def _keep_from(self, buffers: list[Any]) -> None:
        """Copy what was captured and is now an operand too, which may be donated: XLA refuses both.

        The executable keeps the copies, as later calls need what was captured.
        """
        given = {*map(id, buffers)}
        if given.isdisjoint(map(id, self.captured)):
            return
        from effax.effects.rows.elementwise import copy

        for i, (buffer, spec) in enumerate(zip(self.captured, self.in_specs, strict=False)):
            if id(buffer) in given and not buffer.is_deleted():
                self.captured[i] = bottom.perform(copy, (Array(buffer, spec),), {}).buffer

    def moved(self, buffers: list[Any]) -> list[Any]:
        """The operands, all of them where the executable runs."""
        moved = list(buffers)
        for i, spec, place in self.moves:
            moved[i] = device_put(Array(buffers[i], spec), place).buffer
        return moved
