"""`pallas_call`: a kernel, traced on references to blocks, as one effect."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from effax.api import references as references  # installs the methods of references
from effax.api.calling.arguments import name_of, wearing
from effax.api.calling.differentiable import as_value, typeof_like
from effax.effects.config import trace_key
from effax.effects.contexts import put
from effax.effects.frames import filtered
from effax.effects.handler import current
from effax.effects.program import Program
from effax.effects.rows.conversion import convert_element_type
from effax.effects.rows.kernel import Block, kernel
from effax.effects.rows.state import OwnedRef
from effax.effects.tree import tree_flatten, tree_unflatten
from effax.effects.types import ShapedArray, int32, typeof
from effax.experimental.pallas import points
from effax.experimental.pallas.specs import (
    BlockSpec,
    CostEstimate,
    GridSpec,
    MemoryRef,
    no_block_spec,
)
from effax.interpreters.functor.cutting import ID
from effax.interpreters.stage import Stage


@filtered
def pallas_call(
    kernel: Callable[..., Any],
    out_shape: Any,
    *,
    grid_spec: GridSpec | None = None,
    grid: int | Sequence[int] = (),
    in_specs: Any = no_block_spec,
    out_specs: Any = no_block_spec,
    scratch_shapes: Sequence[Any] | Mapping[str, Any] = (),
    input_output_aliases: Mapping[int, int] | None = None,
    debug: bool = False,
    interpret: Any = False,
    name: str | None = None,
    compiler_params: Any = None,
    cost_estimate: CostEstimate | None = None,
    metadata: Mapping[str, str] | None = None,
) -> Callable[..., Any]:
    """Return a function of arrays that runs a kernel at each point of a grid.

    The kernel is called with references: to a block of each argument, to a block of each result,
    and to the scratch arrays. It returns nothing. Points are visited in order, the last axis of the
    grid fastest; a block that several points write keeps what was written.

    Every transformation goes through the call. On a CPU it is a compiled loop over the grid, as
    with `interpret` everywhere.

    Args:
      kernel: the function of references.
      out_shape: a tree of shapes and dtypes, the results'.
      grid_spec: grid, specifications and scratch arrays in one.
      grid: the lengths of the grid's axes.
      in_specs: a `BlockSpec` for each argument; by default each is one block.
      out_specs: a `BlockSpec` for each result.
      scratch_shapes: arrays that the kernel may write, which stay between points.
      input_output_aliases: which result (by number) begins as which argument (by number), and may
        take its memory.
      debug: print the kernel's program.
      interpret: run the loop over the grid on every platform.
      name: the kernel's name, by default the function's.
      compiler_params: hints for the compiler of a chip, `tpu.CompilerParams` or
        `triton.CompilerParams`.
      cost_estimate: accepted for JAX's sake.
      metadata: accepted for JAX's sake.

    Returns:
      The function of arrays (or trees of them), which returns arrays in a tree like `out_shape`; a
      tuple where that is a list.

    Raises:
      ValueError: where a specification does not fit its array, or an alias its result.

    >>> import effax, effax.numpy as jnp
    >>> from effax.experimental import pallas as pl
    >>> def add(x_ref, y_ref, o_ref):
    ...     o_ref[...] = x_ref[...] + y_ref[...]
    >>> x = jnp.arange(8.0)
    >>> spec = pl.BlockSpec((4,), lambda i: (i,))
    >>> pl.pallas_call(add, x, grid=2, in_specs=[spec, spec], out_specs=spec)(x, x)
    Array([ 0.,  2.,  4.,  6.,  8., 10., 12., 14.], dtype=float32)
    """
    spec = grid_spec or GridSpec(grid, in_specs, out_specs, scratch_shapes)
    call = KernelCall(
        kernel,
        spec,
        *_out_types(out_shape),
        tuple(dict(input_output_aliases or {}).items()),
        bool(interpret),
        name or name_of(kernel),
        compiler_params,
        debug,
    )

    @wearing(kernel, annotated=False)
    @filtered
    def called(*args: Any) -> Any:
        return call(*args)

    return called


def _out_types(out_shape: Any) -> tuple[tuple[ShapedArray, ...], Any]:
    leaves, tree = tree_flatten(tuple(out_shape) if isinstance(out_shape, list) else out_shape)
    types = [typeof_like(x) for x in leaves]
    return tuple(ShapedArray(t.shape, t.dtype) for t in types), tree


@attrs.frozen
class KernelTrace:
    """A kernel on blocks, with its index maps, and the arrays that it closes over."""

    program: Program
    captured: tuple[Any, ...]
    maps: tuple[Program, ...]
    blocks: tuple[Block, ...]


@attrs.frozen(eq=False)
class KernelCall:
    """The arguments of `pallas_call`, and the call on arrays."""

    function: Callable[..., Any]
    spec: GridSpec
    out_types: tuple[ShapedArray, ...]
    out_tree: Any
    aliases: tuple[tuple[int, int], ...]
    interpret: bool
    name: str
    params: Any
    debug: bool
    known: dict[Any, KernelTrace] = attrs.field(factory=dict, init=False, repr=False)

    def __call__(self, *args: Any) -> Any:
        """Trace the kernel on blocks of arrays of these types, and perform it."""
        count = self.spec.num_scalar_prefetch
        told, tree_told = tree_flatten(args[:count])
        arrays, tree = tree_flatten(args[count:])
        told, arrays = [as_value(x) for x in told], [as_value(x) for x in arrays]
        traced = self.traced(tuple(map(typeof, told)), tree_told, tuple(map(typeof, arrays)), tree)
        if self.debug:
            print(traced.program)
        n = len(traced.captured)
        results = kernel(
            *told,
            *traced.captured,
            *arrays,
            program=traced.program,
            maps=traced.maps,
            blocks=traced.blocks,
            grid=self.spec.grid,
            scalars=len(told),
            aliases=tuple((i - len(told) + n, o) for i, o in self.aliases),
            unset="nan",
            parallel=() if self.params is None else self.params.parallel(len(self.spec.grid)),
            interpret=self.interpret,
            params=self.params,
            name=self.name,
        )
        return tree_unflatten(self.out_tree, results)

    def traced(
        self, told: tuple[ShapedArray, ...], tree_told: Any, ins: tuple[ShapedArray, ...], tree: Any
    ) -> KernelTrace:
        """Trace the kernel and its index maps, once for these types where it captures nothing."""
        key = told, tree_told, ins, tree, trace_key()
        found = self.known.get(key)
        if found is None:
            found = self._trace(told, tree_told, ins, tree)
            if not found.captured:
                self.known[key] = found
        return found

    def _trace(
        self, told: Sequence[ShapedArray], tree_told: Any, ins: Sequence[ShapedArray], tree: Any
    ) -> KernelTrace:
        outs = self.out_types
        specs = [
            *_flat(self.spec.in_specs, tree, len(ins), "in_specs", "arguments"),
            *_flat(self.spec.out_specs, self.out_tree, len(outs), "out_specs", "results"),
        ]
        named = [f"argument {i}" for i in range(len(ins))]
        named += [f"result {i}" for i in range(len(outs))]
        pairs = zip(specs, (*ins, *outs), named, strict=True)
        blocks = tuple(s.block(t, what) for s, t, what in pairs)
        self._check_aliases(len(told), ins)
        maps = tuple(
            self._map(s, b, what, told, tree_told)
            for s, b, what in zip(specs, blocks, named, strict=True)
        )
        program, captured = self._program(blocks, told, tree_told, tree)
        first = [Block.whole(typeof(x)) for x in captured]
        maps = (*(self._map(BlockSpec(), b, "", told, tree_told) for b in first), *maps)
        return KernelTrace(program, captured, maps, (*first, *blocks))

    def _check_aliases(self, scalars: int, ins: Sequence[ShapedArray]) -> None:
        for i, result in self.aliases:
            if not 0 <= i - scalars < len(ins) or not 0 <= result < len(self.out_types):
                raise ValueError(
                    f"pallas_call: input_output_aliases pairs argument {i} with result {result}, "
                    f"but there are {scalars + len(ins)} arguments, of which the first {scalars} "
                    f"are scalars, and {len(self.out_types)} results"
                )
            one, other = ins[i - scalars], self.out_types[result]
            if one.shape != other.shape or one.dtype != other.dtype:
                raise ValueError(
                    f"pallas_call: argument {i} of type {one.str_short()} can't be an alias of "
                    f"result {result} of type {other.str_short()}"
                )

    def _map(
        self, spec: BlockSpec, block: Block, what: str, told: Sequence[ShapedArray], tree: Any
    ) -> Program:
        """The program of an index map, on a point and scalars."""
        axes = len(block.sizes)

        def positions(ids: Sequence[Any], cells: Sequence[OwnedRef]) -> list[Any]:
            if spec.index_map is None:
                found: Any = (0,) * axes
            else:
                found = spec.index_map(*ids, *tree_unflatten(tree, cells))
            found = tuple(found) if isinstance(found, list | tuple) else (found,)
            if len(found) != axes:
                raise ValueError(
                    f"pallas_call: the index map of {what} must return {axes} values, one for each "
                    f"axis of the block shape {block.sizes}, got {len(found)}"
                )
            for x in found:
                t = typeof(x)
                if t.shape or t.dtype.kind not in "iu":
                    raise ValueError(
                        f"pallas_call: the index map of {what} must return integer scalars, got "
                        f"{t.str_short()}"
                    )
            return [_as_id(x) for x in found]

        program, captured = _staged(positions, self.spec.grid, told, [], "index_map")
        if captured:
            raise ValueError(
                f"pallas_call: the index map of {what} closes over arrays; pass them as scalars of "
                "a PrefetchScalarGridSpec"
            )
        return program

    def _program(
        self, blocks: Sequence[Block], told: Sequence[ShapedArray], tree_told: Any, tree: Any
    ) -> tuple[Program, tuple[Any, ...]]:
        """The kernel as a program on blocks, and what it closes over: its first blocks."""
        scratch, scratch_tree = tree_flatten(
            self.spec.scratch_shapes, is_leaf=lambda x: isinstance(x, MemoryRef)
        )
        held = [_scratch_type(x) for x in scratch]
        n, ins = len(told), tree.num_leaves

        def run(ids: Sequence[Any], cells: Sequence[OwnedRef]) -> list[Any]:
            scalars, given, rest = cells[:n], cells[n : n + ins], cells[n + ins :]
            written, kept = rest[: len(self.out_types)], rest[len(self.out_types) :]
            outs = tree_unflatten(self.out_tree, written)
            outs = outs if isinstance(outs, list | tuple) else (outs,)
            extra = tree_unflatten(scratch_tree, kept)
            by_name = extra if isinstance(extra, dict) else {}
            answer = self.function(
                *tree_unflatten(tree_told, scalars),
                *tree_unflatten(tree, given),
                *outs,
                *(() if by_name else extra),
                **by_name,
            )
            if answer is not None:
                raise ValueError(
                    f"pallas_call: the kernel {self.name} must return None and write its results "
                    f"to references, but it returned {answer!r}"
                )
            return [cell.contents for cell in rest]

        types = [*told, *(b.type for b in blocks), *held]
        program, captured = _staged(run, self.spec.grid, types[:n], types[n:], self.name)
        before, k = len(self.spec.grid) + n, len(captured)
        inputs = [*program.inputs[k : k + before], *program.inputs[:k]]
        inputs += program.inputs[k + before :]
        return Program(inputs, program.equations, program.outputs, self.name), captured


def _staged(
    function: Callable[[Sequence[Any], Sequence[OwnedRef]], Sequence[Any]],
    grid: tuple[int, ...],
    told: Sequence[ShapedArray],
    types: Sequence[ShapedArray],
    name: str,
) -> tuple[Program, tuple[Any, ...]]:
    """Record a function of a point and of references to arrays; and what it closes over."""
    recorder = Stage()
    token = put(current, recorder)
    try:
        ids = [recorder.input(ID) for _ in grid]
        cells = [OwnedRef(recorder, recorder.input(t)) for t in (*told, *types)]
        with points.at(ids, grid):
            results = function(ids, cells)
        staged = recorder.finish(list(results), name)
    finally:
        current.reset(token)
        recorder.close()
    return staged.program, tuple(staged.captured)


def _as_id(x: Any) -> Any:
    return x if typeof(x) is ID else convert_element_type(x, dtype=int32, weak_type=False)


def _scratch_type(x: Any) -> ShapedArray:
    if isinstance(x, MemoryRef):
        return x.type
    t = typeof_like(x)
    return ShapedArray(t.shape, t.dtype)


def _flat(specs: Any, tree: Any, count: int, what: str, of: str) -> list[BlockSpec]:
    """The specifications in the order of the leaves of a tree."""
    if specs is no_block_spec:
        return [BlockSpec()] * count
    forms = [specs]
    if isinstance(specs, list | tuple):  # a list may stand for a tuple, and the reverse
        forms += [tuple(specs), list(specs)]
    flat = [tree_flatten(x, is_leaf=_is_spec) for x in forms]
    leaves = next((found for found, shape in flat if shape == tree), None)
    if leaves is None:
        raise ValueError(
            f"pallas_call: {what} must be a tree like the {of}, {tree}, got {flat[0][1]}"
        )
    for x in leaves:
        if x is not no_block_spec and not isinstance(x, BlockSpec):
            raise TypeError(f"pallas_call: {what} must hold BlockSpecs, got {x!r}")
    return [BlockSpec() if x is no_block_spec else x for x in leaves]


def _is_spec(x: Any) -> bool:
    return x is no_block_spec or isinstance(x, BlockSpec)
