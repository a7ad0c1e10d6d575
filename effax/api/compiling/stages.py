"""Ahead of time: a function staged, lowered, compiled, each kept as an object to look at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from effax.api.calling.float0 import set_aside
from effax.api.calling.options import CompilerOptions as CompilerOptions
from effax.api.calling.options import checked_options
from effax.api.compiling.struct import ShapeDtypeStruct
from effax.backends.xla import analysis
from effax.backends.xla.array import Array, asarray, device_put
from effax.backends.xla.compile import donate_operands
from effax.backends.xla.dispatch import (
    check_row,
    compile_program,
    lower,
    refuse_execution,
)
from effax.backends.xla.launch import Executor, Launch
from effax.backends.xla.layout import ProgramLayout
from effax.backends.xla.ledger import Work
from effax.backends.xla.placement import Sharding, Spec
from effax.effects.errors import SymbolicShapeError
from effax.effects.frames import boundary, filtered, settle, strip
from effax.effects.handler import Carrier
from effax.effects.mismatch import mismatches
from effax.effects.program import Program
from effax.effects.rows.state import Ref, ref_get, ref_set, takes_references
from effax.effects.tree import registry, tree_flatten, tree_unflatten, treedef_is_leaf
from effax.effects.types import ShapedArray, str_long, typeof
from effax.effects.value import is_symbolic
from effax.interpreters.functor.discharge import discharged, distinct
from effax.interpreters.functor.masks import pick

OutInfo = ShapeDtypeStruct


@attrs.frozen(slots=True)
class ArgInfo:
    """The type of an argument, and whether its memory is donated."""

    type: ShapedArray
    donated: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return self.type.shape

    @property
    def dtype(self) -> Any:
        """The type of the elements."""
        return self.type.dtype


@attrs.frozen(slots=True, eq=False)
class StagedCall:
    """The part of a call that all its stages share."""

    fun_name: str
    program: Program
    captured: tuple[Any, ...]
    in_tree: Any
    out_tree: Any
    donated: tuple[int, ...]
    names: tuple[str, ...]
    """The name of each leaf of the arguments."""
    layout: ProgramLayout
    options: tuple[tuple[str, Any], ...]
    work: Work | None
    moves: bool = False
    """Whether arguments are moved to the program's device, as `jit(f, device=...)` does."""

    @property
    def in_types(self) -> tuple[ShapedArray, ...]:
        """The types of the arguments' leaves."""
        return self.program.in_types[len(self.captured) :]

    @property
    def given_away(self) -> tuple[int, ...]:
        """The positions of donated operands of the program, which takes captured values first."""
        return tuple([len(self.captured) + i for i in self.donated])


@attrs.frozen(slots=True, eq=False)
class _Stage:
    _call: StagedCall

    @property
    def fun_name(self) -> str:
        """The name of the function."""
        return self._call.fun_name

    @property
    def program(self) -> Program:
        """The staged program; what it closes over are its first inputs."""
        return self._call.program

    @property
    def captured(self) -> tuple[Any, ...]:
        """The values that the function closes over."""
        return self._call.captured

    @property
    def in_tree(self) -> Any:
        """The tree of the arguments, `(args, kwargs)`, without the static ones."""
        return self._call.in_tree

    @property
    def out_tree(self) -> Any:
        """The tree of the results."""
        return self._call.out_tree

    @property
    def in_avals(self) -> Any:
        """The types of the arguments, in their tree."""
        return tree_unflatten(self._call.in_tree, self._call.in_types)

    @property
    def out_avals(self) -> Any:
        """The types of the results, in their tree."""
        return tree_unflatten(self._call.out_tree, self._call.program.out_types)

    @property
    def args_info(self) -> Any:
        """An `ArgInfo` for each argument, in their tree `(args, kwargs)`."""
        donated = set(self._call.donated)
        return tree_unflatten(
            self._call.in_tree,
            [ArgInfo(t, i in donated) for i, t in enumerate(self._call.in_types)],
        )

    @property
    def out_info(self) -> Any:
        """A `ShapeDtypeStruct` for each result, in their tree."""
        return tree_unflatten(
            self._call.out_tree, [ShapeDtypeStruct.of(t) for t in self._call.program.out_types]
        )

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """The positions, among the leaves of the arguments, of those that are given away."""
        return self._call.donated

    def __repr__(self) -> str:
        types = ", ".join(
            f"{n}: {t!r}" for n, t in zip(self._call.names, self._call.in_types, strict=True)
        )
        return f"<{type(self).__name__} {self._call.fun_name}({types})>"


@attrs.frozen(slots=True, eq=False, repr=False)
class Traced(_Stage):
    """A function staged for some arguments: `jaxpr` is its program, `lower()` goes on."""

    @property
    def program(self) -> Program:
        """The staged program; its first inputs are what it captured."""
        return self._call.program

    @property
    def jaxpr(self) -> Program:
        """The staged program, under the name JAX gives it."""
        return self._call.program

    @property
    def captured(self) -> tuple[Any, ...]:
        """The values from outside that the function mentions."""
        return self._call.captured

    @property
    def layout(self) -> ProgramLayout:
        """The devices of the program, and how its operands and results lie on them."""
        return self._call.layout

    @filtered
    def lower(self, *, lowering_platforms: Sequence[str] | None = None) -> Lowered:
        """Go on to StableHLO, for the platform of the arguments or the one that is named.

        Raises `NotImplementedError` for more platforms than one: lower once for each.
        """
        refuse_symbolic(self.fun_name, self._call.in_types)
        if lowering_platforms is None:
            platform = self._call.layout.where.device.platform
        elif len(lowering_platforms) == 1:
            (platform,) = lowering_platforms
        else:
            raise NotImplementedError(
                f"lowering_platforms={tuple(lowering_platforms)} is not supported: a module is "
                "lowered for one platform; lower once for each platform"
            )
        return Lowered(self._call, _module_text(self._call, platform), platform)


def refuse_symbolic(name: str, types: Sequence[ShapedArray]) -> None:
    """Raise `SymbolicShapeError` where a program can't be compiled, as lengths are symbolic."""
    for t in types:
        if is_symbolic(t.shape):
            raise SymbolicShapeError(
                f"lower: {name} was traced for {t.str_short()}, and XLA compiles known lengths "
                "only; export the function (effax.export.export), or lower it for known lengths"
            )


def _module_text(call: StagedCall, platform: str, located: bool = False) -> str:
    """The StableHLO module of a staged call, its references threaded through as operands."""
    program = call.program
    if takes_references(program):
        program, _ = discharged(program)
    check_row(program)
    text, _ = lower(program, call.layout, platform=platform, located=located)
    return donate_operands(text, call.given_away)


@attrs.frozen(slots=True, eq=False, repr=False)
class Lowered(_Stage):
    """A program in StableHLO, ready to compile."""

    _text: str
    _platform: str

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """The module as text: of StableHLO, or of HLO (`dialect="hlo"`), not yet optimised.

        With `debug_info` each operation has its location: scopes by name and the effect, and the
        user's file and line.
        Raises `ValueError` for another dialect.
        """
        dialect, text = _dialect(dialect), self._text
        if debug_info:
            text = _module_text(self._call, self._platform, located=True)
        if dialect == "hlo":
            return analysis.hlo_text(text, debug_info)
        return text if debug_info else analysis.plain_text(text)

    def compiler_ir(self, dialect: str | None = None) -> Any:
        """The module as an object of jaxlib: MLIR's, or an `XlaComputation` for "hlo".

        Its operations have locations, as in `as_text(debug_info=True)`.
        """
        made = analysis.computation if _dialect(dialect) == "hlo" else analysis.module
        return made(_module_text(self._call, self._platform, located=True))

    def cost_analysis(self) -> dict[str, float] | None:
        """XLA's estimate of what the program costs, as it stands: "flops", "bytes accessed", ..."""
        backend = self._call.layout.where.device.backend
        return analysis.costs_before(self._text, backend)

    @filtered
    def compile(self, compiler_options: CompilerOptions | None = None) -> Compiled:
        """Compile for the device of the arguments, or the default one.

        `compiler_options` are XLA's flags by name, added to those of `jit`. References are read and
        written at each call. Raises `JaxRuntimeError` for a flag that XLA does not have.
        """
        call = self._call
        where = call.layout.where
        if self._platform != where.device.platform:
            raise ValueError(
                f"{call.fun_name} was lowered for {self._platform}, but its arguments are on "
                f"{where.device.platform}: lower it without lowering_platforms to compile it here"
            )
        traced = [x for x in call.captured if isinstance(x, Carrier)]
        if traced:
            raise TypeError(
                f"{call.fun_name} can't be compiled on its own, as it closes over the traced "
                f"value {traced[0]!r}: pass that value as an argument"
            )
        program, layout, threads = call.program, call.layout, None
        if takes_references(program):
            program, layout, threads = _threaded(call)
        captured = [x for x in call.captured if not isinstance(x, Ref)]
        executor = compile_program(
            program,
            layout,
            donate=call.given_away,
            captured=[
                asarray(x) if where.device.backend.absent else device_put(asarray(x), at)
                for x, at in zip(captured, layout.ins, strict=False)
            ],
            options={**dict(call.options), **checked_options(compiler_options)},
            work=call.work,
        )
        specs = map(Spec, program.in_types[len(captured) :], layout.ins[len(captured) :])
        return Compiled(call, executor.gather([*specs], layout), threads)


@attrs.frozen(slots=True, eq=False)
class _Threads:
    """The references that a compiled function closes over, and which of all it writes.

    `ins` are the placements of its inputs, the contents of those references before the arguments.
    """

    ins: tuple[Sharding, ...]
    held: tuple[Ref, ...]
    written: tuple[bool, ...]

    def references(self, call: StagedCall, leaves: Sequence[Any]) -> list[Ref]:
        """List references closed over, then arguments; raises `RefError` for one given twice."""
        return distinct([*self.held, *leaves], call.fun_name, lambda: call.names)[0]

    def write_back(self, refs: Sequence[Ref], results: list[Any]) -> list[Any]:
        """Write final contents, the last results, to the references; return the results before."""
        changed = pick(refs, self.written, True)
        n = len(results) - len(changed)
        for ref, x in zip(changed, results[n:], strict=True):
            ref_set(ref, x)
        return results[:n]


def _threaded(call: StagedCall) -> tuple[Program, ProgramLayout, _Threads]:
    """The program on contents; values that it closes over first, then contents of references."""
    whole, written = discharged(call.program)
    held = [isinstance(x, Ref) for x in call.captured]
    order = [i for i, ref in enumerate(held) if not ref] + [i for i, ref in enumerate(held) if ref]
    order += range(len(order), len(whole.inputs))
    layout, outs = call.layout, call.layout.outs
    layout = attrs.evolve(
        layout,
        ins=tuple([layout.ins[i] for i in order]),
        outs=None if outs is None else (*outs, *[None] * sum(written)),
    )
    inputs = [whole.inputs[i] for i in order]
    program = Program(inputs, whole.equations, whole.outputs, whole.name)
    return program, layout, _Threads(layout.ins, tuple(pick(call.captured, held, True)), written)


@attrs.frozen(slots=True, eq=False, repr=False)
class Compiled(_Stage):
    """An executable for arguments of exactly the types it was lowered for."""

    executor: Executor
    _threads: _Threads | None = None
    _fitting: set[tuple[Any, ...]] = attrs.field(factory=set)
    """The specs of arrays that were found to fit, of which nothing need be asked again."""
    _launches: dict[tuple[Any, ...], Launch] = attrs.field(factory=dict)
    """The same where each argument is an array, and what to do with their buffers."""

    @boundary
    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Run, with the dynamic arguments; raises `TypeError` for other trees or types."""
        try:
            if not keywords:
                specs = tuple([x.spec if type(x) is Array else None for x in args])
                launch = self._launches.get(specs)
                if launch is not None:
                    refuse_execution(self._call.fun_name)
                    return launch([x.buffer for x in args])
            result = self._run(args, keywords)
            settle()
            return result
        except Exception as error:
            strip(error)
            raise

    def _run(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        call = self._call
        refuse_execution(call.fun_name)
        leaves, tree = set_aside(*tree_flatten((args, keywords)))
        if tree != call.in_tree:
            raise TypeError(_other_tree(call, (args, keywords)))
        specs = tuple([x.spec if type(x) is Array else None for x in leaves])
        if specs in self._fitting:
            return tree_unflatten(call.out_tree, self.executor([x.buffer for x in leaves]))
        found = [self._type(i, x) for i, x in enumerate(leaves)]
        wrong = [
            f"Argument '{name}' compiled with {str_long(e)} and called with {str_long(f)}"
            for name, e, f in zip(call.names, call.in_types, found, strict=True)
            if e.shape != f.shape or e.dtype != f.dtype or type(e) is not type(f)
        ]
        if wrong:
            raise TypeError(
                "Argument types differ from the types for which this computation was compiled "
                f"({call.fun_name}); lower and compile it again for these, or convert. The "
                "mismatches are:\n" + "\n".join(wrong)
            )
        refs: list[Ref] = []
        if self._threads is not None:
            refs = self._threads.references(call, leaves)
            held = len(self._threads.held)
            leaves = [ref_get(x) if isinstance(x, Ref) else x for x in (*refs[:held], *leaves)]
        buffers, fits = [], None not in specs
        ins = call.layout.ins if self._threads is None else self._threads.ins
        places = ins[len(ins) - len(leaves) :]
        for x, where in zip(leaves, places, strict=True):
            array = x if type(x) is Array else asarray(x)
            if array.spec.placement is not where:
                if array.spec.committed and not call.moves:
                    raise ValueError(_other_device(call, leaves, array, where))
                array, fits = device_put(array, where), False
            buffers.append(array.buffer)
        results = self.executor(buffers)
        if self._threads is not None:
            results = self._threads.write_back(refs, results)
        elif fits:
            self._fitting.add(specs)
            if not keywords and all(type(x) is Array for x in args):
                alone = treedef_is_leaf(call.out_tree)
                build = None if alone else lambda xs: tree_unflatten(call.out_tree, list(xs))
                self._launches[specs] = self.executor.launch(build)
        return tree_unflatten(call.out_tree, results)

    @property
    def call(self) -> Callable[..., Any]:
        """The call as a plain function."""
        return self.__call__

    def _type(self, i: int, x: Any) -> ShapedArray:
        name = self._call.names[i]
        if isinstance(x, Carrier):
            raise TypeError(
                f"{self._call.fun_name} was lowered and compiled for particular types of arrays, "
                f"and its argument {name} is {x!r}, a traced value: transform the function before "
                "it is lowered, or call the jitted function"
            )
        try:
            return typeof(x)
        except TypeError:
            raise TypeError(
                f"Argument {name} of type {type(x)} is not a valid effax type; compiled for "
                f"{self._call.in_types[i].str_short()}"
            ) from None

    def as_text(self) -> str:
        """The optimised HLO."""
        return str(self.executor.executable.as_text())

    def cost_analysis(self) -> Any:
        """XLA's cost estimate of the optimised program: "flops", "bytes accessed", ...; or None."""
        return self.executor.executable.cost_analysis()

    def memory_analysis(self) -> Any:
        """The memory that the executable takes, in bytes, as attributes; or None."""
        return self.executor.executable.memory_analysis()

    def runtime_executable(self) -> Any:
        """jaxlib's executable."""
        return self.executor.executable.raw

    @property
    def input_shardings(self) -> tuple[Any, Any]:
        """The expected sharding of each argument, in their tree `(args, kwargs)`."""
        layout = self._call.layout
        filled: tuple[Any, Any] = tree_unflatten(
            self._call.in_tree,
            [
                layout.name(place, t.ndim) or place
                for place, t in zip(
                    layout.ins[len(self._call.captured) :], self._call.in_types, strict=True
                )
            ],
        )
        return filled

    @property
    def output_shardings(self) -> Any:
        """The sharding of each result, in their tree."""
        tree = self._call.out_tree
        specs = self.executor.specs[: tree.num_leaves]
        return tree_unflatten(tree, [spec.sharding for spec in specs])

    @property
    def input_formats(self) -> tuple[Any, Any]:
        """Order in memory and place of each argument, in their tree `(args, kwargs)`."""
        formats = analysis.input_formats(self.executor.executable)[len(self._call.captured) :]
        filled: tuple[Any, Any] = tree_unflatten(self._call.in_tree, formats)
        return filled

    @property
    def output_formats(self) -> Any:
        """Order in memory and place of each result, in their tree."""
        tree = self._call.out_tree
        formats = analysis.output_formats(self.executor.executable)
        return tree_unflatten(tree, formats[: tree.num_leaves])


def _dialect(dialect: str | None) -> str:
    if dialect in (None, "stablehlo"):
        return "stablehlo"
    if dialect == "hlo":
        return "hlo"
    raise ValueError(
        f"unknown dialect: {dialect}; it must be 'stablehlo' or 'hlo'. compile().as_text() "
        "returns optimised HLO"
    )


def _other_tree(call: StagedCall, given: Any) -> str:
    expected = tree_unflatten(call.in_tree, call.in_types)
    found = [
        f"  at {_place(m.path)} there was {m.first}, and now there is {m.second}: {m.explanation}"
        for m in mismatches(registry, expected, given, None, prefix=False)
    ]
    return (
        "Function compiled with input pytree does not match the input pytree it was called with "
        f"({call.fun_name}; static arguments are left out of the call):\n" + "\n".join(found)
    )


def _place(path: Sequence[Any]) -> str:
    if not path:
        return "(args, kwargs)"
    return ("args", "kwargs")[path[0].idx] + "".join(map(str, path[1:]))


def _other_device(call: StagedCall, leaves: Sequence[Any], array: Array, where: Sharding) -> str:
    at = next(i for i, x in enumerate(leaves) if x is array) - len(leaves) + len(call.names)
    what = "a reference closed over" if at < 0 else f"argument {call.names[at]}"
    return (
        "Compiled object called with input sharding(s) that do not match the sharding(s) it was "
        f"compiled with: {what} of {call.fun_name} is committed to {array.sharding}, but the "
        f"executable takes it on {where}; move it with device_put"
    )
