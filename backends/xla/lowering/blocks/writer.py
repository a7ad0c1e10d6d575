"""Writing a program on blocks as MLIR: values, views of memory, control flow.

A block of an operand is a `View` of memory until something is computed of it: only then it is
loaded, and of a part of it only the part. A part of a result is stored where the program replaces
it. What was read of the same memory before, and is still to be used, is loaded first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Final

import attrs
import numpy as np

from effax.backends.xla.lowering.writer import number
from effax.effects.effect import Effect
from effax.effects.errors import UnhandledEffectError
from effax.effects.program import Equation, Literal, Program, Variable
from effax.effects.rows import control, indexing
from effax.effects.rows.kernel import Block
from effax.effects.types import ShapedArray, bool_, element_name, int32
from effax.interpreters.functor.written_out import expansions
from effax.interpreters.stage import stage

INDEX: Final = ShapedArray((), int32)
BOOL: Final = ShapedArray((), bool_)


@attrs.frozen(eq=False)
class Val:
    """The name of a value, and its type."""

    text: str
    type: ShapedArray

    def __str__(self) -> str:
        return self.text


@attrs.frozen(eq=False)
class Memory:
    """An argument of the kernel: where an array, or a block of it, lies."""

    name: str
    block: Block
    starts: tuple[Val | None, ...]
    """The first element of the block, along each axis of the array; None for 0."""
    writable: bool
    buffer: str
    """The name of what it lies in: that of a result, where the argument is an alias of one."""


@attrs.frozen(eq=False)
class Dim:
    """A range of positions along an axis of a block: a sum of terms and a number, a size, a stride.

    An axis that is not `kept` has one position, and is not an axis of the value. `padded` is
    whether positions may lie beyond the end of the array.
    """

    start: int
    terms: tuple[Val, ...]
    size: int
    stride: int = 1
    kept: bool = True
    padded: bool = False


@attrs.frozen(eq=False)
class View:
    """A part of memory that holds a value which is not loaded yet."""

    memory: Memory
    dims: tuple[Dim, ...]

    @classmethod
    def of(cls, memory: Memory) -> View:
        """All of a block."""
        b = memory.block
        return cls(
            memory,
            tuple(
                Dim(0, (), n, kept=not gone, padded=n != whole and whole % n != 0)
                for n, gone, whole in zip(b.sizes, b.squeezed, b.array.shape, strict=True)
            ),
        )

    @property
    def kept(self) -> list[Dim]:
        """The axes of the value."""
        return [d for d in self.dims if d.kept]

    @property
    def type(self) -> ShapedArray:
        """The type of the value."""
        return self.memory.block.array.update(shape=tuple(d.size for d in self.kept))

    def is_all_of(self, memory: Memory) -> bool:
        """Whether it is all of the block in that memory."""
        return self.memory is memory and all(
            d.size == n and not d.start and not d.terms
            for d, n in zip(self.dims, memory.block.sizes, strict=True)
        )

    def along(self, ranges: Sequence[Dim]) -> View:
        """The view with its axes replaced."""
        rest = iter(ranges)
        return attrs.evolve(self, dims=tuple(next(rest) if d.kept else d for d in self.dims))


Value = Val | View
Rule = Callable[..., Any]


class BlockWriter:
    """The body of a kernel, line by line."""

    container: ClassVar[str]
    """The MLIR type of a block's value, "tensor" or "vector"."""
    chip: ClassVar[str]
    rules: ClassVar[dict[Effect, Rule]] = {}
    reaches: ClassVar[bool] = True
    """Whether parts of memory may reach beyond the end of an array, and are masked."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lines: list[str] = []
        self.count = 0
        self.live: list[dict[Any, Any]] = []

    # -- text

    def text(self, type: ShapedArray) -> str:
        """The MLIR type of a value."""
        element = self.element(type.dtype)
        if not type.shape:
            return element
        return f"{self.container}<{'x'.join(map(str, type.shape))}x{element}>"

    def element(self, dtype: Any) -> str:
        """The MLIR type of an element; integers have no sign."""
        return str(element_name(dtype)).replace("ui", "i")

    def fresh(self) -> str:
        """A new name."""
        self.count += 1
        return f"%v{self.count}"

    def raw(self, text: str) -> str:
        """Write an operation whose result is no value of the program, and return its name."""
        name = self.fresh()
        self.lines.append(f"{name} = {text}")
        return name

    def op(self, text: str, type: ShapedArray) -> Val:
        """Write an operation of one result."""
        return Val(self.raw(text), type)

    def spread(self, x: Val, lengths: tuple[int, ...]) -> Val:
        """A scalar as a block."""
        raise NotImplementedError(type(self).__name__)

    def constant(self, value: Any, type: ShapedArray) -> Val:
        """A number, everywhere in a block."""
        text = number(value, type.dtype)
        if type.shape:
            return self.op(f"arith.constant dense<{text}> : {self.text(type)}", type)
        if type.dtype == bool_:
            return self.op(f"arith.constant {text}", type)
        return self.op(f"arith.constant {text} : {self.text(type)}", type)

    def simple(self, name: str, operands: Sequence[Val], type: ShapedArray) -> Val:
        """Write an operation whose operands and result have one type."""
        return self.op(f"{name} {', '.join(map(str, operands))} : {self.text(type)}", type)

    def refuse(self, why: str) -> UnhandledEffectError:
        """The error for what the compiler of the chip does not have."""
        return UnhandledEffectError(
            f"kernel {self.name}: {why} for a {self.chip}; interpret=True runs the kernel as a "
            "loop over its grid, on any platform"
        )

    # -- memory

    def load(self, view: View) -> Val:
        """Load what a view names."""
        raise NotImplementedError(type(self).__name__)

    def store(self, view: View, value: Val) -> None:
        """Store a value where a view names."""
        raise NotImplementedError(type(self).__name__)

    def val(self, x: Value) -> Val:
        """The value, loaded if it has to be."""
        return self.load(x) if isinstance(x, View) else x

    def replace(self, view: View, value: Val) -> None:
        """Store a value where a view names, between what is read before and after it."""
        self.store(view, value)

    def settle(self, memory: Memory) -> None:
        """Load what was read of a memory, and is still used, before it is written."""
        for environment in self.live:
            for x, value in environment.items():
                if isinstance(value, View) and value.memory.buffer == memory.buffer:
                    environment[x] = self.load(value)

    def moved(self, x: Value, home: View) -> View:
        """The view of a result's memory that holds a value, which is put there if it is not."""
        if isinstance(x, View) and x.memory is home.memory:
            return x
        value = self.val(x)
        self.settle(home.memory)
        self.replace(home, value)
        return home

    # -- programs

    def run(
        self,
        program: Program,
        values: Sequence[Value],
        homes: Mapping[Any, View] = MappingProxyType({}),
    ) -> list[Value]:
        """Write the equations of a program; views stay views as long as they can.

        `homes` says where the values of variables must lie, of which parts are replaced.
        """
        environment: dict[Any, Value] = dict(zip(program.inputs, values, strict=True))
        last = _last_uses(program)
        self.live.append(environment)
        for i, e in enumerate(program.equations):
            operands = [self.read(environment, x) for x in e.inputs]
            for x in e.inputs:
                if type(x) is Variable and last.get(x) == i:
                    environment.pop(x, None)
            if e.effect in IN_PLACE:
                for k, x in enumerate(e.inputs):
                    if x in homes:
                        operands[k] = self.moved(operands[k], homes[x])
            results = [
                self.moved(y, homes[x]) if x in homes else y
                for x, y in zip(e.outputs, self.equation(e, operands), strict=True)
            ]
            environment.update((x, y) for x, y in zip(e.outputs, results, strict=True) if x in last)
        found = [self.read(environment, x) for x in program.outputs]
        self.live.pop()
        return found

    def read(self, environment: dict[Any, Value], x: Any) -> Value:
        """The value of a variable or a literal."""
        return self.constant(x.value, x.type) if type(x) is Literal else environment[x]

    def equation(self, e: Equation, operands: list[Value]) -> list[Value]:
        """Write one equation."""
        types = [x.type for x in e.outputs]
        as_view = lazy.get(e.effect)
        if as_view is not None:
            found = as_view(self, types, *operands, **e.attributes)
            if found is not NotImplemented:
                return list(found) if e.effect.multiple else [found]
        loaded = [self.val(x) for x in operands]
        rule = self.rules.get(e.effect) or shared.get(e.effect)
        if rule is not None:
            found = rule(self, types, *loaded, **e.attributes)
            return list(found) if e.effect.multiple else [found]
        if e.effect in expansions:
            return self.written_out(e, loaded)
        raise self.refuse(f"'{e.effect.name}' has no rule")

    def written_out(self, e: Equation, operands: list[Val]) -> list[Value]:
        """Write an effect as what it is composed of."""
        function = expansions[e.effect]

        def body(*xs: Any) -> Any:
            found = function(*xs, **e.attributes)
            return list(found) if e.effect.multiple else [found]

        staged = stage(body, [x.type for x in operands], e.effect.name)
        if staged.captured:
            raise self.refuse(f"'{e.effect.name}' holds arrays")
        return self.run(staged.program, operands)


IN_PLACE: Final = (
    indexing.dynamic_update_slice,
    control.scan,
    control.while_loop,
    control.cond,
)
"""Effects that replace parts of an operand."""

shared: Final[dict[Effect, Rule]] = {}
"""Rules for any compiler of kernels: `rule(w, types, *operands, **attributes)`."""
lazy: Final[dict[Effect, Rule]] = {}
"""Rules that are given views; `NotImplemented` where values are needed."""


def rule(*effects: Effect, table: dict[Effect, Rule] = shared) -> Callable[[Rule], Rule]:
    """Fill cells of a compiler of kernels."""

    def fill(function: Rule) -> Rule:
        for effect in effects:
            table[effect] = function
        return function

    return fill


def _last_uses(program: Program) -> dict[Any, int]:
    last: dict[Any, int] = {}
    for i, e in enumerate(program.equations):
        last.update((x, i) for x in e.inputs)
    last.update((x, len(program.equations)) for x in program.outputs)
    return last


def zeros(w: BlockWriter, type: ShapedArray) -> Val:
    """A block of zeros."""
    return w.constant(np.zeros((), type.dtype)[()], type)
