"""Ahead of time: a lowered program, and a compiled one."""

from __future__ import annotations

from typing import Any

import attrs

from effax.backends.xla.array import asarray
from effax.backends.xla.dispatch import Executor, common_placement, compile_program, lower
from effax.effects.program import Program
from effax.effects.tree import tree_flatten, tree_unflatten
from effax.effects.types import typeof


@attrs.frozen(slots=True, eq=False)
class Lowered:
    """A program in StableHLO, ready to compile."""

    program: Program
    captured: tuple[Any, ...]
    in_tree: Any
    out_tree: Any
    donated: tuple[int, ...]
    _text: list[str] = attrs.field(factory=list, repr=False)

    def __attrs_post_init__(self) -> None:
        self._text.append(lower(self.program)[0])

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """The module's StableHLO text.

        With `debug_info` each line has its location: scopes by name and the effect, and the user's
        file and line. Programs with scopes have locations in any case, as XLA is to know them.

        Raises `ValueError` for another dialect.
        """
        if dialect not in (None, "stablehlo"):
            raise ValueError(
                f"lower().as_text has dialect 'stablehlo', not {dialect!r}; "
                "compile().as_text() gives optimised HLO"
            )
        return lower(self.program, located=True)[0] if debug_info else self._text[0]

    def compile(self) -> Compiled:
        """Compile for the device that holds the captured arrays, or the default one."""
        captured = [asarray(x) for x in self.captured]
        executor = compile_program(
            self.program,
            common_placement([x.spec for x in captured]),
            any(x.spec.committed for x in captured),
            donate=self.donated,
            captured=captured,
        )
        return Compiled(self.program, executor, self.in_tree, self.out_tree)


@attrs.frozen(slots=True, eq=False)
class Compiled:
    """An executable for arguments of exactly the types it was lowered for."""

    program: Program
    executor: Executor
    in_tree: Any
    out_tree: Any

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Run; raises `TypeError` for arguments of other trees or types."""
        leaves, tree = tree_flatten((args, keywords))
        expected = self.program.in_types[len(self.executor.captured) :]
        if self.in_tree is not None and tree != self.in_tree:
            raise TypeError(f"compiled for arguments {self.in_tree}, called with {tree}")
        found = [typeof(x) for x in leaves]
        for i, (e, f) in enumerate(zip(expected, found, strict=True)):
            if e.shape != f.shape or e.dtype != f.dtype:
                raise TypeError(
                    "Argument types differ from the types for which this computation was "
                    "compiled: "
                    f"argument {i} should be {e.str_short()}, but it is {f.str_short()}"
                )
        arrays = [asarray(x) for x in leaves]
        return tree_unflatten(self.out_tree, self.executor([x.buffer for x in arrays]))

    def as_text(self) -> str:
        """The optimised HLO."""
        return str(self.executor.executable.as_text())

    def cost_analysis(self) -> Any:
        """What XLA reckons the program costs."""
        return self.executor.executable.cost_analysis()

    def memory_analysis(self) -> Any:
        """The memory that the executable takes."""
        return self.executor.executable.memory_analysis()
