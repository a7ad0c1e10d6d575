"""`jit`: a function staged once for the types of its arguments, and called as one operation."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import update_wrapper
from typing import Any

import attrs

from effax.api.arguments import as_tuple, name_of, static_positions
from effax.api.differentiable import typeof_like
from effax.api.float0 import Nothing, is_nothing, set_aside
from effax.api.lowered import Lowered
from effax.backends.xla.array import Array, asarray, device_put
from effax.backends.xla.dispatch import Executor, common_placement, compile_program, operand
from effax.backends.xla.executable import XlaRuntimeError, explain_failure
from effax.backends.xla.placement import Spec, single
from effax.effects import config, control
from effax.effects.config import trace_key
from effax.effects.frames import filtered
from effax.effects.handler import Carrier, bottom, current
from effax.effects.program import Program
from effax.effects.tree import (
    keystr,
    registry,
    tree_flatten,
    tree_flatten_with_path,
    tree_unflatten,
)
from effax.effects.types import typeof
from effax.interpreters.stage import stage


@attrs.frozen(slots=True, eq=False)
class Traced:
    """A function staged for some types: a program, what it captured, and its results' tree."""

    program: Program
    captured: tuple[Any, ...]
    out_tree: Any

    @property
    def alive(self) -> bool:
        """Whether what was captured may still be used: the handlers that own it are installed."""
        return all(not isinstance(x, Carrier) or x.handler.live for x in self.captured)


class Jit:
    """What `jit(f)` returns: call it like `f`; `lower` and `trace` to look inside."""

    def __init__(
        self,
        function: Callable[..., Any],
        static_numbers: tuple[int, ...],
        static_names: tuple[str, ...],
        donated: tuple[int, ...],
        donated_names: tuple[str, ...],
        inline: bool,
        device: Any,
    ) -> None:
        self._function = function
        self._static_numbers = frozenset(static_numbers)
        self._static_names = frozenset(static_names)
        self._donated = frozenset(donated)
        self._donates = bool(donated or donated_names)
        self._donated_names = frozenset(donated_names)
        self._has_static = bool(static_numbers or static_names)
        self._static_places: dict[int, tuple[int, ...]] = {}
        self._converts = False
        self._inline = inline
        self._device = device
        self._traces: dict[Any, Traced] = {}
        self._fast: dict[Any, _Entry] = {}
        self._flat: dict[Any, tuple[Any, Any, Spec]] = {}
        self._name = name_of(function)
        update_wrapper(self, function, updated=())

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        from functools import partial

        return partial(self, instance)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """The function's results, computed as one operation."""
        if current.get() is bottom:
            if self._flat and not keywords:
                try:  # arrays in, one array out: the common case needs no trees
                    found = self._flat.get((trace_key(), *[x.spec for x in args]))
                    if found is not None:
                        run, handlers, spec = found
                        outs = run([x.buffer for x in args]).consume_with_handlers(handlers)
                        return Array(outs[0], spec)
                except AttributeError:
                    pass
                except XlaRuntimeError as error:
                    explain_failure(error, [(x.spec, x.buffer) for x in args])
                    raise
            entry, leaves = self._find(args, keywords)
            if entry is not None:
                return entry(leaves)
        return self._call(args, keywords)

    def _find(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, Any]:
        """The compiled call for these arguments, if there is one, and its operands."""
        statics: tuple[Any, ...] = ()
        if self._has_static:
            if self._static_names & keywords.keys():
                return None, ()
            places = self._places(len(args))
            statics = tuple([(type(args[i]), args[i]) for i in places])
            args = tuple([x for i, x in enumerate(args) if i not in places])
        leaves, tree = flatten((args, keywords))
        try:
            ready = leaves
            if self._converts or not all([type(x) is Array for x in leaves]):
                self._converts = True
                enter = asarray if self._donates else operand
                ready = [x if type(x) is Array else enter(x) for x in leaves]
            return self._fast.get((trace_key(), tree, statics, *[x.spec for x in ready])), ready
        except TypeError:  # no array, or a static that can't be hashed: the long way says so
            return None, ()

    def _places(self, count: int) -> tuple[int, ...]:
        found = self._static_places.get(count)
        if found is None:
            numbers = self._static_numbers
            found = tuple(sorted({n % count for n in numbers if -count <= n < count}))
            self._static_places[count] = found
        return found

    @filtered
    def _call(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        if config.read("disable_jit"):
            return self._function(*args, **keywords)
        parted = self._part(args, keywords)
        traced = self._trace(parted)
        if current.get() is bottom:
            return self._run(parted, traced)
        results = control.call(
            *traced.captured, *parted.leaves, program=traced.program, name=self._name
        )
        return tree_unflatten(traced.out_tree, results)

    def _part(
        self, args: tuple[Any, ...], keywords: dict[str, Any], typing: Any = typeof
    ) -> Parted:
        return Parted.of(self, args, keywords, typing)

    def _trace(self, parted: Parted) -> Traced:
        key = parted.key
        found = self._traces.get(key)
        if found is not None and found.alive:
            return found
        if config.read("no_tracing"):
            raise RuntimeError(
                f"re-tracing function {self._name} for `jit`, but 'no_tracing' is set"
            )
        out: list[Any] = []

        def flat(*values: Any) -> list[Any]:
            leaves, tree = set_aside(*tree_flatten(parted.call(self._function, values)))
            out[:] = [tree]
            check_results(leaves, self._name, out[0])
            return leaves

        staged = stage(flat, parted.types, self._name)
        traced = Traced(staged.program, staged.captured, out[0])
        self._traces[key] = traced
        return traced

    def _run(self, parted: Parted, traced: Traced) -> Any:
        captured = [asarray(x) for x in traced.captured]
        arrays = [x if type(x) is Array else asarray(x) for x in parted.leaves]
        donate = [len(captured) + i for i in parted.donated]
        specs = tuple([x.spec for x in captured + arrays])
        memo_key = ("executor", specs, tuple(donate), self._device)
        executor: Executor | None = traced.program.memo.get(memo_key)
        if executor is None:
            everything = captured + arrays
            where = (
                single(self._device)
                if self._device is not None
                else common_placement([x.spec for x in everything])
            )
            committed = self._device is not None or any(x.spec.committed for x in everything)
            executor = compile_program(
                traced.program,
                where,
                committed,
                donate=donate,
                captured=[device_put(x, where) for x in captured],
            ).gather([x.spec for x in arrays], where)
            traced.program.memo[memo_key] = executor
        entry = _Entry(executor, traced.out_tree)
        if self._device is None and not executor.moves:
            specs_of_rest = [x.spec for x in arrays]
            statics = tuple([(type(x.value), x.value) for _, x in parted.statics])
            if all(isinstance(at, int) for at, _ in parted.statics):
                self._fast[(trace_key(), parted.tree, statics, *specs_of_rest)] = entry
            if not statics and parted.is_flat and entry.spec is not None and not captured:
                flat = executor.run, executor.handlers, entry.spec
                self._flat[(trace_key(), *specs_of_rest)] = flat
        return entry(arrays)

    def trace(self, *args: Any, **keywords: Any) -> TracedCall:
        """Stage the function for these arguments (arrays or types) and stop there."""
        return TracedCall(self._trace(self._part(args, keywords, typeof_like)), self._name)

    def lower(self, *args: Any, **keywords: Any) -> Lowered:
        """Stage and lower the function for these arguments (arrays or types)."""
        parted = self._part(args, keywords, typeof_like)
        traced = self._trace(parted)
        return Lowered(
            traced.program,
            traced.captured,
            parted.tree,
            traced.out_tree,
            tuple(len(traced.captured) + i for i in parted.donated),
        )

    def eval_shape(self, *args: Any, **keywords: Any) -> Any:
        """The types of the results, without computing anything."""
        from effax.api.staging import ShapeDtypeStruct

        traced = self._trace(self._part(args, keywords, typeof_like))
        return tree_unflatten(
            traced.out_tree, [ShapeDtypeStruct.of(t) for t in traced.program.out_types]
        )

    def clear_cache(self) -> None:
        """Forget what was staged and compiled."""
        self._traces.clear()
        self._fast.clear()
        self._flat.clear()

    def _cache_size(self) -> int:
        return len(self._traces)

    def __repr__(self) -> str:
        return f"<jit of {self._function!r}>"


class _Entry:
    """A compiled call: arrays in, the results' tree out."""

    __slots__ = (
        "captured",
        "direct",
        "executor",
        "handlers",
        "run",
        "spec",
        "specs",
        "tree",
        "unflatten",
    )

    def __init__(self, executor: Executor, tree: Any) -> None:
        self.executor = executor
        self.tree = tree
        self.unflatten = tree.unflatten
        self.run = executor.run
        self.handlers = executor.handlers
        self.captured = executor.captured
        self.specs = executor.specs
        self.direct = executor.direct
        self.spec = executor.single if self.direct and tree == _LEAF else None

    def __call__(self, arrays: Sequence[Array]) -> Any:
        buffers = [x.buffer for x in arrays]
        if not self.direct:
            return tree_unflatten(self.tree, self.executor(buffers))
        if self.captured:
            buffers = self.captured + buffers
        try:
            outs = self.run(buffers).consume_with_handlers(self.handlers)
        except XlaRuntimeError as error:
            explain_failure(error, [(x.spec, x.buffer) for x in arrays])
            raise
        if self.spec is not None:
            return Array(outs[0], self.spec)
        return self.unflatten(map(Array, outs, self.specs))


@attrs.frozen(slots=True)
class TracedCall:
    """A function staged for some arguments: `program` is its text, `lower()` goes on."""

    staged: Traced
    fun_name: str

    @property
    def program(self) -> Program:
        """The staged program."""
        return self.staged.program

    @property
    def jaxpr(self) -> Program:
        """The staged program, under the name JAX gives it."""
        return self.staged.program

    def lower(self) -> Lowered:
        """Go on to StableHLO."""
        return Lowered(self.staged.program, self.staged.captured, None, self.staged.out_tree, ())


@attrs.frozen(slots=True, eq=False)
class Parted:
    """The arguments of a call: statics in a skeleton, leaves of the rest with their types."""

    leaves: list[Any]
    types: list[Any]
    tree: Any
    is_flat: bool
    statics: tuple[tuple[Any, Any], ...]
    donated: tuple[int, ...]
    key: Any

    @classmethod
    def of(
        cls, jit: Jit, args: tuple[Any, ...], keywords: dict[str, Any], typing: Any = typeof
    ) -> Parted:
        """Part the arguments of a call of `jit`, whose leaves have the types `typing` says."""
        statics: list[tuple[Any, Any]] = []
        rest: list[Any] = list(args)
        named = dict(keywords)
        if jit._has_static:
            count = len(args)
            places = jit._places(count)
            rest = []
            for i, x in enumerate(args):
                if i in places:
                    statics.append((i, _Static(x, i)))
                else:
                    rest.append(x)
            for name in jit._static_names & named.keys():
                statics.append((name, _Static(named.pop(name), name)))
        leaves, tree = tree_flatten((tuple(rest), named))
        if any(map(is_nothing, leaves)):
            filled = [Nothing(x.shape) if is_nothing(x) else x for x in leaves]
            rest, named = tree_unflatten(tree, filled)
            leaves, tree = tree_flatten((tuple(rest), named))
        types = _leaf_types(leaves, rest, named, jit._name, typing)
        donated: tuple[int, ...] = ()
        if jit._donates:
            donated = _donated_leaves(jit, args, statics, rest, named)
        fixed = tuple(statics)
        key = trace_key(), axes_in_scope(), tree, fixed, tuple(types)
        is_flat = not keywords and all(type(x) is Array for x in args)
        return cls(leaves, types, tree, is_flat, fixed, donated, key)

    def call(self, function: Callable[..., Any], values: Sequence[Any]) -> Any:
        """Call the function with these leaves in place of its dynamic arguments."""
        args, keywords = tree_unflatten(self.tree, values)
        if self.statics:
            args = list(args)
            for at, x in self.statics:
                if isinstance(at, int):
                    args.insert(at, x.value)
                else:
                    keywords = {**keywords, at: x.value}
        return function(*args, **keywords)


class _Static:
    """A static argument: compared by type and value."""

    __slots__ = ("value",)

    def __init__(self, value: Any, at: int | str) -> None:
        try:
            hash(value)
        except TypeError as error:
            raise ValueError(
                f"Non-hashable static arguments are used in a jitted function: argument {at!r} is "
                f"of type {type(value)}. Static arguments must be hashable and compare by value, "
                "since compiled code is found by them: pass a tuple for a list, or leave the "
                f"argument out of static_argnums ({error})"
            ) from None
        self.value = value

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _Static)
            and type(self.value) is type(other.value)
            and bool(self.value == other.value)
        )


def _leaf_types(
    leaves: Sequence[Any], args: Sequence[Any], keywords: dict[str, Any], name: str, typing: Any
) -> list[Any]:
    types = []
    for i, x in enumerate(leaves):
        try:
            types.append(typing(x))
        except TypeError:
            path = keystr(tree_flatten_with_path((tuple(args), keywords))[0][i][0])
            raise TypeError(
                f"Cannot interpret value of type {type(x)} as an abstract array; it does not have "
                f"a dtype attribute. It was found in the arguments of the jitted function {name}, "
                f"at (args, kwargs){path}; pass it as a static argument (static_argnums, "
                "static_argnames), or register its class as a pytree"
            ) from None
    return types


def _donated_leaves(
    jit: Jit,
    args: tuple[Any, ...],
    statics: Sequence[tuple[Any, Any]],
    rest: Sequence[Any],
    named: dict[str, Any],
) -> tuple[int, ...]:
    count = len(args)
    places = {n % count for n in jit._donated if -count <= n < count}
    skipped = {at for at, _ in statics}
    donated: list[int] = []
    position = 0
    for i, x in enumerate(args):
        if i in skipped:
            continue
        n = len(set_aside(*tree_flatten(x))[0])
        if i in places:
            donated += range(position, position + n)
        position += n
    for name in sorted(named):
        n = len(set_aside(*tree_flatten(named[name]))[0])
        if name in jit._donated_names:
            donated += range(position, position + n)
        position += n
    return tuple(donated)


def axes_in_scope() -> tuple[tuple[Hashable, int], ...]:
    """The named axes that handlers now installed bind, with their lengths, innermost first."""
    handler = current.get()
    axes = []
    while handler is not bottom:
        name = getattr(handler, "axis_name", None)
        if name is not None:
            axes.append((name, handler.size))
        handler = handler.outer
    return tuple(axes)


def check_results(leaves: Sequence[Any], name: str, tree: Any) -> None:
    """Refuse results that are not arrays.

    Raises `TypeError` that names where in the results such a value stands.
    """
    for i, x in enumerate(leaves):
        try:
            typeof(x)
        except TypeError:
            filled = tree_unflatten(tree, range(len(leaves)))
            path = keystr(tree_flatten_with_path(filled)[0][i][0])
            raise TypeError(
                f"function {name} to be transformed must return arrays, but it returned a value "
                f"of type {type(x)} at output component {path or '(the whole result)'}"
            ) from None


_LEAF = tree_flatten(0)[1]
flatten = registry.flatten


def jit(
    fun: Callable[..., Any] | None = None,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    keep_unused: bool = False,
    device: Any = None,
    backend: str | None = None,
    inline: bool = False,
) -> Any:
    """Compile a function: it is staged for the types of its arguments, and run by XLA.

    Args:
      fun: a function of pytrees of arrays; run once for each combination of argument types.
      static_argnums: positions of arguments that are Python values, part of what is compiled.
      static_argnames: the same by name.
      donate_argnums: positions of arguments whose memory the results may take over.
      donate_argnames: the same by name.
      keep_unused: accepted for JAX's sake; unused arguments cost nothing here.
      device: where to run; by default where the arguments are.
      backend: the platform whose first device to run on, instead of `device`.
      inline: accepted for JAX's sake; calls are inlined by XLA.

    Returns:
      A function like `fun`, with `lower(*args)`, `trace(*args)`, `eval_shape(*args)`.

    Raises:
      TypeError: for arguments or results that are not arrays.
      ValueError: for static arguments that can't be hashed.

    >>> import effax
    >>> effax.jit(lambda x: x * 2.0)(3.0)
    Array(6., dtype=float32, weak_type=True)
    """
    if fun is None:
        return lambda f: jit(
            f,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            donate_argnums=donate_argnums,
            donate_argnames=donate_argnames,
            keep_unused=keep_unused,
            device=device,
            backend=backend,
            inline=inline,
        )
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun}")
    if inspect.isgeneratorfunction(fun):
        raise TypeError(f"Expected a function, got a generator function: {fun}")
    if backend is not None:
        from effax.backends.xla.device import devices

        device = devices(backend)[0]
    numbers, names = static_positions(fun, as_tuple(static_argnums), as_tuple(static_argnames))
    donated = as_tuple(donate_argnums)
    if set(donated) & set(numbers):
        raise ValueError(
            f"static_argnums {numbers} and donate_argnums {donated} cannot intersect: a static "
            "argument has no memory to donate"
        )
    return Jit(fun, numbers, names, donated, as_tuple(donate_argnames), inline, device)
