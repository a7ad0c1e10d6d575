"""Jitted functions: staged once for the types of their arguments, and called as one operation."""

from __future__ import annotations

import inspect
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from threading import get_ident
from typing import TYPE_CHECKING, Any, Final
from weakref import ref

import numpy as np

from effax.api.calling.arguments import (
    name_of,
    shown,
    wearing,
    with_references,
)
from effax.api.calling.call_arguments import CallArguments, check_results
from effax.api.calling.differentiable import typeof_like
from effax.api.calling.float0 import set_aside
from effax.api.calling.in_place import run_in_place
from effax.api.calling.signatures import Parameters, leaf_names, traced_function
from effax.api.compiling.caches import Trace, caches_of, warn_of_large
from effax.api.custom.calls import keeps_references
from effax.api.placing.shardings import Leaves, Shardings, check_arguments, constrained
from effax.backends.xla import ledger
from effax.backends.xla.array import Array, asarray
from effax.backends.xla.dispatch import refuse_execution
from effax.backends.xla.launch import Executor
from effax.backends.xla.layout import ProgramLayout, layout_of
from effax.backends.xla.placement import Spec, default, place, single
from effax.eager.calls import builder, compiled
from effax.eager.forms import CallForm, FoundCall, enter, enter_own, find, given
from effax.effects import config, key_use
from effax.effects.config import trace_key
from effax.effects.frames import boundary, describe, filtered, settle, strip, user_frame
from effax.effects.handler import bottom, current, innermost
from effax.effects.mesh import entered_mesh, placed_by, placing_mesh
from effax.effects.program import Program, Variable
from effax.effects.rows import control
from effax.effects.rows.state import Ref, takes_references
from effax.effects.tree import tree_flatten, tree_map, tree_unflatten
from effax.effects.types import typeof
from effax.interpreters.stage import refuse_returned, stage

if TYPE_CHECKING:
    from effax.api.compiling.stages import Lowered, Traced


_log: Final = logging.getLogger("effax")
_being_traced: Final[set[Any]] = set()
"""Jitted functions with the key of the trace that a thread is making."""


class _Signature:
    """The function's signature, also for who does not look at what a callable wraps."""

    def __get__(self, instance: Any, owner: Any = None) -> inspect.Signature:
        if instance is None:
            raise AttributeError("__signature__")  # the class itself has another signature
        # Cached, because `inspect` asks each function of a chain of wrappers twice: 2^n times in
        # all.
        found = inspect.signature(instance._function)
        instance.__dict__["__signature__"] = found
        return found


def _has_no_value(x: Any) -> bool:
    """Whether an argument is a `ShapeDtypeStruct`, whose module programs need not have loaded."""
    return getattr(type(x), "has_value", True) is False


class Jit:
    """The result of `jit(f)`: call it like `f`; use `lower` and `trace` to look inside.

    What a call runs is in the object's own slot `__call__`: the function that was written for the
    form of its last calls (`eager.forms`), which passes on what it does not know to `_other`.
    """

    __slots__ = ("__call__", "__dict__", "__weakref__")
    __signature__ = _Signature()

    def __init__(
        self,
        function: Callable[..., Any],
        static_numbers: tuple[int, ...] = (),
        static_names: tuple[str, ...] = (),
        donated: tuple[int, ...] = (),
        donated_names: tuple[str, ...] = (),
        inline: bool = False,
        device: Any = None,
        options: tuple[tuple[str, Any], ...] = (),
        shardings: Shardings | None = None,
        named: str = "jit",
    ) -> None:
        self._function = function
        self._is_pjit = named == "pjit"
        self._static_numbers = frozenset(static_numbers)
        self._static_names = frozenset(static_names)
        self._donated = frozenset(donated)
        self._donates = bool(donated or donated_names)
        self._donated_names = frozenset(donated_names)
        self._has_static = bool(static_numbers or static_names)
        self._static_places: dict[int, tuple[int, ...]] = {}
        self._inline = inline
        self._device = device
        self._options = options
        self._shardings = shardings
        asked = None if shardings is None else shardings.key
        key = static_numbers, static_names, donated, donated_names, device, options, asked, named
        self._caches, new = caches_of(function, key)
        self._traces = self._caches.traces
        self._name = name_of(function)
        self._work = ledger.of_function(function, self._name, new)
        self._enter = enter_own if self._donates else enter
        self._bound: dict[Any, tuple[CallForm, Callable[..., Any]]] = {}
        made_of = function, static_numbers, static_names, donated, donated_names, inline, device
        self._made_of = *made_of, options, shardings, named
        self._missed = _passing_on(ref(self), self._made_of)
        self.__call__ = _first_call(self._missed)
        wearing(function)(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return Jit, self._made_of

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        return partial(self, instance)

    def _other(
        self, tried: CallForm | None, args: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        """The results of a call that is not of the form `tried`, or not compiled yet."""
        args, keywords = given(args, keywords)
        if installed() is not bottom or self._device is not None:
            return self._call(args, keywords, None)
        shape = (len(args), *sorted(keywords)) if keywords else len(args)
        known, call = self._bound.get(shape, (None, None))
        if call is not None and known is not tried:
            self.__call__ = call
            return call(*args, **keywords)
        places = self._places(len(args)) if self._has_static else ()
        caches, enter = self._caches.entries, self._enter
        found = find(args, keywords, places, self._static_names, known, shape, caches, enter)
        if found is not None and found.launch is not None:
            self._remember(found)
            self._work.hits += 1
            return found.launch(found.buffers)
        return self._call(args, keywords, found)

    def _remember(self, found: FoundCall) -> None:
        """Look for calls of the form of this one first."""
        call = found.form.bind(found.entries, self._work, self._missed, self._enter)
        self._bound[found.shape] = found.form, call
        self.__call__ = call

    def _places(self, count: int) -> tuple[int, ...]:
        found = self._static_places.get(count)
        if found is None:
            numbers = self._static_numbers
            found = tuple(sorted({n % count for n in numbers if -count <= n < count}))
            self._static_places[count] = found
        return found

    @filtered
    def _call(
        self, args: tuple[Any, ...], keywords: dict[str, Any], found: FoundCall | None
    ) -> Any:
        if config.read("disable_jit"):
            return self._function(*args, **keywords)
        with self._context():
            return self._call_in_context(args, keywords, found)

    def _entered(self) -> Any:
        """The mesh that places the calls of a `pjit`, or None."""
        return entered_mesh() if self._is_pjit else None

    def _context(self) -> Any:
        """The context of a call: that of a `pjit` is placed by a mesh entered with `with mesh:`."""
        mesh = self._entered()
        return nullcontext() if mesh is None else placed_by(mesh)

    def _called(self, operands: Sequence[Any], program: Program) -> Any:
        """The results of an effect `call`; that of a `pjit` keeps the mesh it is placed by."""
        mesh = self._entered()
        placed = {} if mesh is None else {"mesh": mesh}
        return control.call(*operands, program=program, name=self._name, **placed)

    def _call_in_context(
        self, args: tuple[Any, ...], keywords: dict[str, Any], found: FoundCall | None
    ) -> Any:
        parted = self._part(args, keywords)
        traced = self._trace(parted)
        if any(map(_has_no_value, parted.leaves)):
            self._fill_unread(parted, traced)
        for i in traced.used_keys:
            told = f"Previously-consumed key passed to jit-compiled function at index {i}: "
            key_use.use(parted.leaves[i], None, self._name, told)
        if traced.mutates and self._shardings is not None:
            raise NotImplementedError(
                f"jit of {self._name}: in_shardings and out_shardings are not supported for a "
                "function of references; move their contents by device_put before the call"
            )
        if innermost() is bottom:
            if not traced.mutates:
                return self._run(parted, traced, found)
            operands = (*traced.captured, *parted.leaves)

            results = run_in_place(
                traced.program, operands, self._executor, partial(self._leaf_names, parted)
            )
            return tree_unflatten(traced.out_tree, results)
        if self._options:
            raise ValueError(
                "`compiler_options` can only be passed to top-level `effax.jit`: at "
                f"{describe(user_frame())}, {self._name}, which has compiler_options="
                f"{dict(self._options)}, was called inside another transformed function, whose "
                "program is compiled as one; give the options to the outermost jit"
            )
        if self._shardings is not None:
            return self._constrained(parted, traced)
        if self._inline:
            outs = traced.program.run(*traced.captured, *parted.leaves)
            return tree_unflatten(traced.out_tree, outs)
        if traced.mutates and keeps_references(traced.program):
            return self._closed(parted)
        results = self._called([*traced.captured, *parted.leaves], traced.program)
        return tree_unflatten(traced.out_tree, results)

    def _fill_unread(self, parted: CallArguments, traced: Trace) -> None:
        """Put zeros for arguments that are types without a value, of which nothing may be read.

        Programs pass a tree of types to ask for its shapes and dtypes only (NetKet).
        """
        read = {x for e in traced.program.equations for x in e.inputs if type(x) is Variable}
        read.update(x for x in traced.program.outputs if type(x) is Variable)
        inputs = traced.program.inputs[len(traced.captured) :]
        for i, (x, leaf) in enumerate(zip(inputs, parted.leaves, strict=True)):
            if _has_no_value(leaf):
                if x in read:
                    raise TypeError(
                        f"jit of {self._name}: argument {self._leaf_names(parted)[i]} is {leaf}, a "
                        "type without a value, and the function computes with it; pass an array, "
                        "or ask for types only, by eval_shape or jit(f).lower"
                    )
                parted.leaves[i] = np.zeros(leaf.shape, leaf.dtype)

    def _constrained(self, parted: CallArguments, traced: Trace) -> Any:
        """The call inside another program, where shardings asked for are constraints."""
        ins, outs = self._asked(traced, parted)
        leaves = constrained(parted.leaves, (ins or ())[len(traced.captured) :] or None)
        results = self._called([*traced.captured, *leaves], traced.program)
        return tree_unflatten(traced.out_tree, constrained(results, outs))

    def _closed(self, parted: CallArguments) -> Any:
        """The call with references closed over: rules keep them, and write them in the end."""
        refs = {i: x for i, x in enumerate(parted.leaves) if isinstance(x, Ref)}
        arrays = [x for x in parted.leaves if not isinstance(x, Ref)]

        def closed(*values: Any) -> Any:
            return parted.call(self._function, with_references(refs, values))

        return Jit(wearing(self._function)(closed))(*arrays)

    def _part(
        self, args: tuple[Any, ...], keywords: dict[str, Any], typing: Any = typeof
    ) -> CallArguments:
        return CallArguments.of(self, args, keywords, typing)

    def _trace(self, parted: CallArguments) -> Trace:
        key = parted.key
        found = self._traces.get(key)
        if found is not None and found.alive:
            return found
        if config.read("no_tracing"):
            raise RuntimeError(
                f"re-tracing function {self._name} for `jit`, but 'no_tracing' is set"
            )
        self._caches.explain(self._function, self._work, parted, found is not None)
        start = time.perf_counter()
        out: list[Any] = []

        def flat(*values: Any) -> list[Any]:
            leaves, tree = set_aside(*tree_flatten(parted.call(self._function, values)))
            out[:] = [tree]
            refuse_returned(leaves, self._name, "jit", values, partial(self._leaf_names, parted))
            check_results(leaves, self._function, out[0])
            return leaves

        fixed = [at for at, _ in parted.statics]
        named = traced_function(self._function, "jit", parted.tree, fixed, leaves=parted.leaves)
        tracing = self, key, get_ident()
        if tracing in _being_traced:
            raise RecursionError(
                f"Recursively calling {named}: with arguments of these types it calls itself while "
                "it is traced, and would never end, as its arguments have no values then. "
                "Write a loop (lax.fori_loop, lax.while_loop), or make the argument that ends the "
                "recursion static and test it by a Python `if`"
            )
        _being_traced.add(tracing)
        try:
            staged = stage(flat, parted.types, self._name, named)
        finally:
            _being_traced.discard(tracing)
        used: tuple[int, ...] = ()
        if trace_key().debug_key_reuse:
            arguments = staged.program.inputs[len(staged.captured) :]
            used = tuple([i for i, x in enumerate(arguments) if key_use.was_used(x)])
        mutates = takes_references(staged.program)
        traced = Trace(staged.program, staged.captured, out[0], used, mutates)
        self._traces[key] = traced
        seconds = time.perf_counter() - start
        self._work.traced(seconds)
        level = logging.WARNING if config.read("log_compiles") else logging.DEBUG
        _log.log(level, "Finished tracing %s for jit in %.6f s", self._name, seconds)
        return traced

    def _leaf_names(self, parted: CallArguments) -> list[str]:
        fixed = [at for at, _ in parted.statics]
        return leaf_names(Parameters.of(self._function), parted.tree, fixed)

    def _run(self, parted: CallArguments, traced: Trace, found: FoundCall | None) -> Any:
        captured = [asarray(x) for x in traced.captured]
        arrays = [x if type(x) is Array else asarray(x) for x in parted.leaves]
        donate = [len(captured) + i for i in parted.donated]
        asked = self._asked(traced, parted)
        names = partial(self._leaf_names, parted)
        if asked[0] is not None:
            check_arguments(asked[0][len(captured) :], arrays, names)
        executor = self._executor(traced.program, captured, arrays, donate, asked, names)
        if donate:
            executor.names = names()
        launch = executor.launch(builder(traced.out_tree))
        settled = self._shardings is not None or not executor.moves
        if found is not None and settled and not traced.used_keys:
            found.entries[found.key] = launch
            self._remember(found)
        return launch([x.buffer for x in arrays])

    def _executor(
        self,
        program: Program,
        captured: Sequence[Array],
        arrays: Sequence[Array],
        donate: Sequence[int],
        asked: tuple[Leaves | None, Leaves | None] = (None, None),
        names: Callable[[], Sequence[str]] | None = None,
    ) -> Executor:
        """A program compiled for these operands, of which it keeps the captured ones."""
        refuse_execution(f"jit({self._name})")
        specs = [x.spec for x in (*captured, *arrays)]
        key = "executor", tuple(specs), tuple(donate), self._device, asked, placing_mesh()
        executor: Executor | None = program.memo.get(key)
        if executor is None:
            warn_of_large(captured, self._name)
            layout = self._layout(specs, program, asked, len(captured), names)
            executor = program.memo[key] = compiled(
                program,
                layout,
                captured,
                [x.spec for x in arrays],
                donate=donate,
                options=dict(self._options),
                work=self._work,
            )
        return executor

    def _asked(self, traced: Trace, parted: CallArguments) -> tuple[Leaves | None, Leaves | None]:
        """The shardings asked for, of all operands (the captured ones first) and of the results."""
        if self._shardings is None:
            return None, None
        ins = self._shardings.of_arguments(parted.tree, len(parted.leaves))
        outs = self._shardings.of_results(traced.out_tree, traced.program.out_types)
        return (*(None for _ in traced.captured), *ins), outs

    def _layout(
        self,
        specs: Sequence[Spec],
        program: Program,
        asked: tuple[Leaves | None, Leaves | None] = (None, None),
        captured: int = 0,
        names: Callable[[], Sequence[str]] | None = None,
    ) -> ProgramLayout:
        """Return the layout for operands of these specs."""
        if self._device is None:
            return layout_of(specs, program, *asked, self._name, captured, names)
        context = placing_mesh()
        if context is not None and not context.empty:
            raise ValueError(
                "Mesh context manager should not be used with jit when backend or device is also "
                f"specified as an argument to jit: {self._name} was called under {context}, and "
                f"its device is {self._device}; leave one of them out"
            )
        where = single(self._device)
        layout_of([], program, (), (where,), self._name)  # the program may name other devices
        return ProgramLayout(where, (where,) * len(specs), True)

    @filtered
    def trace(self, *args: Any, **keywords: Any) -> Traced:
        """Stage the function for these arguments (arrays or types) and stop there.

        >>> import effax
        >>> effax.jit(lambda x: x + 1).trace(effax.ShapeDtypeStruct((2,), "float32")).out_info
        ShapeDtypeStruct(shape=(2,), dtype=float32)
        """
        from effax.api.compiling.stages import StagedCall, Traced

        with self._context():
            parted = self._part(args, keywords, typeof_like)
            traced = self._trace(parted)
            names = partial(self._leaf_names, parted)
            specs = [_spec_of(x) for x in (*traced.captured, *parted.leaves)]
            asked = self._asked(traced, parted)
            layout = self._layout(specs, traced.program, asked, len(traced.captured), names)
        return Traced(
            StagedCall(
                self._name,
                traced.program,
                traced.captured,
                parted.tree,
                traced.out_tree,
                parted.donated,
                tuple(names()),
                layout,
                self._options,
                self._work,
                self._device is not None,
            )
        )

    @filtered
    def lower(self, *args: Any, **keywords: Any) -> Lowered:
        """Stage and lower the function for these arguments (arrays or types)."""
        return self.trace(*args, **keywords).lower()

    def eval_shape(self, *args: Any, **keywords: Any) -> Any:
        """The types of the results, without computing anything."""
        from effax.api.compiling.struct import ShapeDtypeStruct, type_of_float0

        traced = self._trace(self._part(args, keywords, typeof_like))
        found = tree_unflatten(
            traced.out_tree, [ShapeDtypeStruct.of(t) for t in traced.program.out_types]
        )
        return tree_map(type_of_float0, found)

    def clear_cache(self) -> None:
        """Forget what was staged and compiled."""
        self._caches.clear()

    def _cache_size(self) -> int:
        return len(self._traces)

    def __repr__(self) -> str:
        return f"<PjitFunction of {shown(self._function)}>"


def _spec_of(x: Any) -> Spec:
    """Return the placement of an argument, or the one that its type promises."""
    if type(x) is Array:
        return x.spec
    where = getattr(x, "sharding", None)
    mesh = getattr(where, "mesh", None)
    if where is None or (mesh is not None and mesh.empty):  # as of a type that says nothing of it
        return Spec(typeof_like(x), default(), False)
    form = getattr(x, "format", None)
    placement = place(where) if form is None else form.placement()  # refuses other layouts
    return Spec(typeof_like(x), placement, True, None if where is placement else where)


installed = current.get


def _passing_on(owner: Callable[[], Jit | None], made_of: tuple[Any, ...]) -> Callable[..., Any]:
    """Return the function that a `Jit`'s slot calls when it finds no compiled call.

    They don't hold the object that holds them, so that it goes when nobody has it; to whoever has
    kept the function alone another one is made.
    """

    def missed(form: CallForm | None, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        nonlocal owner
        jit = owner()
        if jit is None:
            jit = Jit(*made_of)
            owner = partial(_same, jit)
        return jit._other(form, args, keywords)

    return missed


def _same(jit: Jit) -> Jit:
    return jit


def _first_call(missed: Callable[..., Any]) -> Callable[..., Any]:
    """The function in the slot of a `Jit` that was not called yet."""

    @boundary
    def call(*args: Any, **keywords: Any) -> Any:
        """The function's results, computed as one operation."""
        try:
            result = missed(None, args, keywords)
            settle()
            return result
        except Exception as error:
            strip(error)
            raise

    return call
