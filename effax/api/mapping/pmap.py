"""`pmap`: a function at many places at once, one device each."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import attrs

from effax.api.calling.arguments import as_tuple, name_of, normalise, wearing
from effax.api.calling.call_arguments import axes_in_scope, check_results, require_static
from effax.api.calling.differentiable import typeof_like
from effax.api.calling.float0 import Nothing, is_nothing, set_aside
from effax.api.calling.places import Places
from effax.api.calling.signatures import Parameters, leaf_names, traced_function
from effax.api.mapping.vmap import vmap
from effax.backends.xla import parallel as running
from effax.backends.xla import processes
from effax.backends.xla.array import Array, asarray
from effax.effects import config
from effax.effects.config import trace_key
from effax.effects.frames import filtered
from effax.effects.handler import Carrier, bottom, innermost
from effax.effects.program import Program
from effax.effects.rows import collective
from effax.effects.rows.shape import move_axis
from effax.effects.tree import (
    broadcast_prefix,
    mismatch_details,
    none_leaf_registry,
    tree_flatten,
    tree_unflatten,
)
from effax.effects.types import typeof
from effax.effects.value import Value
from effax.interpreters.functor.masks import pick
from effax.interpreters.stage import stage

if TYPE_CHECKING:
    from effax.api.compiling.function_types import Jitted
    from effax.api.compiling.stages import Lowered, Traced

P = ParamSpec("P")
R = TypeVar("R")


@attrs.frozen(slots=True, eq=False)
class PlacesTrace:
    """A function staged for one place."""

    program: Program
    captured: tuple[Any, ...]
    out_tree: Any
    out_axes: tuple[int | None, ...]

    @property
    def alive(self) -> bool:
        """Whether what was captured may still be used."""
        return all(not isinstance(x, Carrier) or x.handler.live for x in self.captured)


@attrs.frozen(slots=True, eq=False)
class PlacesCall:
    """The arguments of one call, flat: leaves, their types and mapped axes, and the rest.

    Of the arguments' tree, `tree` has the structure that one place sees, `in_tree` the caller's:
    values of dtype `float0` stand in them with their shapes.
    """

    leaves: list[Any]
    types: tuple[Any, ...]
    axes: tuple[int | None, ...]
    tree: Any
    in_tree: Any
    statics: tuple[tuple[int, Any], ...]
    size: int
    donated: tuple[int, ...]

    @property
    def mapped(self) -> tuple[bool, ...]:
        """Whether the places have a row each, leaf by leaf."""
        return tuple(a is not None for a in self.axes)

    @property
    def row_types(self) -> tuple[Any, ...]:
        """The types that one place sees."""
        return tuple(
            t if a is None else t.update(shape=_row(t.shape, a))
            for t, a in zip(self.types, self.axes, strict=True)
        )

    @property
    def rows(self) -> list[Any]:
        """The leaves with their mapped axis first."""
        return [
            x if a is None else move_axis(_ready(x, a), a, 0)
            for x, a in zip(self.leaves, self.axes, strict=True)
        ]


class Pmap:
    """The result of `pmap(f)`: call it with arguments that have a row for each device."""

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        self._function = function
        self._name = name_of(function)
        self._axis = options["axis_name"]
        self._in_axes = options["in_axes"]
        self._out_axes = options["out_axes"]
        self._static = options["static"]
        self._devices = options["devices"]
        self._backend = options["backend"]
        self._axis_size = options["axis_size"]
        self._donated = options["donated"]
        self._traces: dict[Any, PlacesTrace] = {}
        wearing(function)(self)

    @filtered
    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Run the function at all places; returns before the devices have finished."""
        call = self._call(args, keywords)
        if config.read("disable_jit"):
            return self._one_effect_at_a_time(call)
        traced = self._trace(call)
        mapped = (*(False for _ in traced.captured), *call.mapped)
        devices = self._places(call.size, traced.program)
        operands = [*traced.captured, *call.rows]
        if innermost() is bottom:
            donate = tuple(len(traced.captured) + i for i in call.donated)
            spread = running.spread(traced.program, mapped, call.size, self._axis, devices, donate)
            results = spread([x if type(x) is Array else asarray(x) for x in operands])
        else:
            results = collective.parallel(
                *operands,
                program=traced.program,
                mapped=mapped,
                size=call.size,
                binds=(self._axis,),
                devices=devices,
                name=self._name,
            )
        return tree_unflatten(traced.out_tree, map(_placed, results, traced.out_axes))

    def _places(self, size: int, program: Program) -> Any:
        if (
            self._devices is None
            and processes.current() is not None
            and f"axis {self._axis}" in program.row
        ):
            raise NotImplementedError(
                f"pmap: a collective over the axis {self._axis!r} in a job of several processes: "
                "pmap maps over the devices of this process only; use shard_map over a mesh of "
                "effax.devices(), or say devices=effax.local_devices()"
            )
        return running.places(size, self._devices, self._backend)

    def _one_effect_at_a_time(self, call: PlacesCall) -> Any:
        """The results where `jit` is disabled: the places are a batch on one device."""
        flat, out = self._flat(call)
        axes = tuple(0 if m else None for m in call.mapped)
        named = {"axis_name": self._axis, "axis_size": call.size}
        results = vmap(flat, in_axes=axes, **named)(*call.rows)
        return tree_unflatten(out[0], map(_placed, results, out[1]))

    def _call(
        self, args: tuple[Any, ...], keywords: dict[str, Any], typing: Any = typeof
    ) -> PlacesCall:
        if isinstance(self._in_axes, tuple) and len(self._in_axes) != len(args):
            raise ValueError(
                "pmap in_axes must be an int, None, or a tuple with an entry for each positional "
                f"argument, but got len(in_axes)={len(self._in_axes)}, len(args)={len(args)}"
            )
        if any(not -len(args) <= n < len(args) for n in self._static):
            count = f"{len(args)} positional argument{'s' if len(args) != 1 else ''}"
            raise ValueError(
                f"pmapped function has static_broadcasted_argnums={self._static} but was called "
                f"with only {count}. All static broadcasted arguments must be passed positionally."
            )
        places = normalise(self._static, len(args), "pmap static_broadcasted_argnums")
        in_axes = self._in_axes
        statics = tuple((i, args[i]) for i in sorted(places))
        for i, x in statics:
            require_static(x, i, "pmapped", "static_broadcasted_argnums")
        dynamic = tuple(x for i, x in enumerate(args) if i not in places)
        if isinstance(in_axes, tuple):
            in_axes = tuple(a for i, a in enumerate(in_axes) if i not in places)
        everything = (dynamic, keywords)
        leaves, tree = tree_flatten(everything)
        axes = self._axes_of(in_axes, dynamic, keywords)
        types = [typing(x) for x in leaves]
        axes = [_checked(a, t, self._name) for a, t in zip(axes, types, strict=True)]
        size = self._size(axes, types)
        in_tree = tree
        if any(map(is_nothing, leaves)):
            in_tree = set_aside(leaves, tree)[1]
            filled = [
                Nothing(x.shape if a is None else _row(x.shape, a)) if is_nothing(x) else x
                for x, a in zip(leaves, axes, strict=True)
            ]
            tree = tree_flatten(tree_unflatten(tree, filled))[1]
            kept = [not is_nothing(x) for x in leaves]
            leaves, types, axes = (list(pick(xs, kept, True)) for xs in (leaves, types, axes))
        given = leaves, tuple(types), tuple(axes), tree, in_tree, statics, size
        return PlacesCall(*given, self._donated_leaves(args, places))

    def _axes_of(
        self, in_axes: Any, dynamic: tuple[Any, ...], keywords: dict[str, Any]
    ) -> list[Any]:
        """The entry of `in_axes` for each leaf; keywords are mapped along their first axis."""
        try:
            return list(
                broadcast_prefix((in_axes, 0), (dynamic, keywords), is_leaf=lambda x: x is None)
            )
        except ValueError:
            details = mismatch_details("pmap in_axes", in_axes, dynamic, none_leaf_registry)
            raise ValueError(
                "pmap in_axes must be a tree prefix of the tuple of positional arguments. "
                f"{details}"
            ) from None

    def _size(self, axes: Sequence[int | None], types: Sequence[Any]) -> int:
        sizes = {t.shape[a] for a, t in zip(axes, types, strict=True) if a is not None}
        if not sizes:
            raise ValueError("pmap requires at least one argument with a mapped axis.")
        if self._axis_size is not None:
            sizes.add(self._axis_size)
        if len(sizes) > 1:
            listed = ", ".join(
                f"{t.str_short()} along axis {a}"
                for a, t in zip(axes, types, strict=True)
                if a is not None
            )
            given = "" if self._axis_size is None else f", and axis_size is {self._axis_size}"
            raise ValueError(
                "pmap got inconsistent sizes for array axes to be mapped, in a call to "
                f"{self._name}: {listed}{given}. Give the arguments that all places share "
                "in_axes=None"
            )
        (size,) = sizes
        return int(size)

    def _donated_leaves(self, args: tuple[Any, ...], places: Iterable[int]) -> tuple[int, ...]:
        found: list[int] = []
        position = 0
        donated = set(normalise(self._donated, len(args), "pmap donate_argnums"))
        for i, x in enumerate(args):
            if i not in places:
                n = sum(not is_nothing(leaf) for leaf in tree_flatten(x)[0])
                if i in donated:
                    found += range(position, position + n)
                position += n
        return tuple(found)

    def _trace(self, call: PlacesCall) -> PlacesTrace:
        key = (
            trace_key(),
            axes_in_scope(),
            call.tree,
            call.statics,
            call.size,
            call.row_types,
        )
        found = self._traces.get(key)
        if found is not None and found.alive:
            return found
        flat, out = self._flat(call)
        with Places(self._axis, call.size).installed():
            fixed = [i for i, _ in call.statics]
            named = traced_function(self._function, "pmap", call.tree, fixed)
            staged = stage(flat, call.row_types, self._name, named)
        traced = PlacesTrace(staged.program, staged.captured, out[0], out[1])
        self._traces[key] = traced
        return traced

    def _flat(self, call: PlacesCall) -> tuple[Callable[..., list[Any]], list[Any]]:
        """The function of one place's leaves; a list for its results' tree and their axes."""
        out: list[Any] = []

        def flat(*values: Any) -> list[Any]:
            args, keywords = tree_unflatten(call.tree, values)
            filled = list(args)
            for i, x in call.statics:
                filled.insert(i, x)
            result = self._function(*filled, **keywords)
            leaves, tree = tree_flatten(result)
            check_results(leaves, self._function, tree)
            axes = self._places_of(result)
            if any(map(is_nothing, leaves)):
                kept = [not is_nothing(x) for x in leaves]
                tree = self._with_places(leaves, tree, axes, call.size)
                leaves, axes = list(pick(leaves, kept, True)), tuple(pick(axes, kept, True))
            out[:] = [tree, axes]
            return leaves

        return flat, out

    def _with_places(
        self, leaves: Sequence[Any], tree: Any, axes: Sequence[int | None], size: int
    ) -> Any:
        """The tree of results in which those of dtype `float0` stand with the axis of the places.

        They have no elements, so the tree gives them back by their shapes.
        """

        def whole(shape: tuple[int, ...], axis: int | None) -> Nothing:
            at = _in_bounds(axis, len(shape) + 1)
            return Nothing(shape if at is None else (*shape[:at], size, *shape[at:]))

        filled = [
            whole(x.shape, a) if is_nothing(x) else x for x, a in zip(leaves, axes, strict=True)
        ]
        return tree_flatten(tree_unflatten(tree, filled))[1]

    def _places_of(self, result: Any) -> tuple[int | None, ...]:
        try:
            axes = broadcast_prefix(self._out_axes, result, is_leaf=lambda x: x is None)
        except ValueError as error:
            raise ValueError(
                f"pmap out_axes must be a tree prefix of the result: {error}"
            ) from None
        return tuple(axes)

    @filtered
    def trace(self, *args: Any, **keywords: Any) -> Traced:
        """Stage the function for these arguments (arrays or types), as a program over a mesh."""
        from effax.api.compiling.stages import StagedCall, Traced

        call = self._call(args, keywords, typeof_like)
        traced = self._trace(call)
        program, layout = running.over_mesh(
            traced.program,
            (*(None for _ in traced.captured), *call.axes),
            [
                _in_bounds(a, t.ndim + 1)
                for a, t in zip(traced.out_axes, traced.program.out_types, strict=True)
            ],
            call.size,
            self._axis,
            self._places(call.size, traced.program),
        )
        fixed = [i for i, _ in call.statics]
        names = leaf_names(Parameters.of(self._function), call.tree, fixed)
        return Traced(
            StagedCall(
                self._name,
                program,
                traced.captured,
                call.in_tree,
                traced.out_tree,
                call.donated,
                tuple(names),
                layout,
                (),
                None,
            )
        )

    @filtered
    def lower(self, *args: Any, **keywords: Any) -> Lowered:
        """Stage and lower the function for these arguments (arrays or types).

        The compiled function takes the arguments that are not static.
        """
        return self.trace(*args, **keywords).lower()

    def clear_cache(self) -> None:
        """Forget what was staged and compiled."""
        self._traces.clear()

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else partial(self, instance)

    def __repr__(self) -> str:
        return f"<pmap of {self._function!r}>"


def _checked(axis: Any, type: Any, name: str) -> int | None:
    if axis is None:
        return None
    if isinstance(axis, bool) or not isinstance(axis, int):
        raise TypeError(f"pmap in_axes must be an int or None, but got {axis!r}")
    if not -type.ndim <= axis < type.ndim:
        raise ValueError(
            f"pmap of {name}: in_axes maps an argument along axis {axis}, and its shape is "
            f"{type.shape}, of rank {type.ndim}"
        )
    return axis % int(type.ndim)


def _ready(x: Any, axis: int) -> Any:
    return asarray(x) if axis and not isinstance(x, Value) else x


def _row(shape: Sequence[int], axis: int) -> tuple[int, ...]:
    """The shape of one place's row of an array that is mapped along an axis."""
    return (*shape[:axis], *shape[axis + 1 :])


def _placed(x: Any, axis: Any) -> Any:
    at = _in_bounds(axis, typeof(x).ndim)
    return x[0] if at is None else move_axis(x, 0, at)


def _in_bounds(axis: int | None, ndim: int) -> int | None:
    if axis is None:
        return None
    if not -ndim <= axis < ndim:
        raise ValueError(f"pmap out_axes: axis {axis} is out of bounds for {ndim} axes")
    return axis % ndim


def pmap(
    fun: Callable[P, R],
    axis_name: Hashable = None,
    *,
    in_axes: Any = 0,
    out_axes: Any = 0,
    static_broadcasted_argnums: int | Iterable[int] = (),
    devices: Sequence[Any] | None = None,
    backend: str | None = None,
    axis_size: int | None = None,
    donate_argnums: int | Iterable[int] = (),
    global_arg_shapes: Any = None,
) -> Jitted[P, R]:
    """Run a function at many places at once, each on a device of its own.

    Arguments have one row for each place, along the mapped axis, which is as long as there are
    places. Called under `jit`, the places become a batch on one device.

    Args:
      fun: a function of pytrees of arrays, as one place sees them.
      axis_name: a name for the places, by which collectives such as `psum` call them.
      in_axes: which axis of each argument is mapped; None for what all places share.
      out_axes: where the places go in each result; None to take the first place's.
      static_broadcasted_argnums: positions of arguments that are Python values.
      devices: the devices to use, one a place; by default the first ones of this process.
      backend: the platform whose devices to use.
      axis_size: the number of places, where it can't be read off the arguments.
      donate_argnums: positions of arguments whose memory the results may take over.
      global_arg_shapes: not supported; arguments are those of this process.

    Returns:
      A function whose results lie one row on each device.

    Raises:
      ValueError: for more places than devices, or mapped axes of different lengths.

    >>> import effax, effax.numpy as jnp
    >>> n = effax.local_device_count()
    >>> effax.pmap(lambda x: effax.lax.psum(x, "i"), axis_name="i")(jnp.ones(n)).tolist() == [n] * n
    True
    """
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun}")
    if global_arg_shapes is not None:
        raise NotImplementedError(
            "pmap with global_arg_shapes is not supported: give each process its own rows"
        )
    if devices is not None and not devices:
        raise ValueError("'devices' argument to pmap must be non-empty, or None.")
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    made: Any = Pmap(
        fun,
        axis_name=running.UnnamedAxis() if axis_name is None else axis_name,
        in_axes=in_axes,
        out_axes=out_axes,
        static=as_tuple(static_broadcasted_argnums),
        devices=None if devices is None else tuple(devices),
        backend=backend,
        axis_size=axis_size,
        donated=as_tuple(donate_argnums),
    )
    return made
