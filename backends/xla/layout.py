"""The layout of a program: its devices, the places of its operands, and its module's mesh."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import pairwise
from math import prod
from typing import Any

import attrs

from effax.backends.xla.device import Device
from effax.backends.xla.mesh import Mesh, NamedSharding, radices
from effax.backends.xla.placement import Placement, Sharding, Spec, default, replicated, single
from effax.effects.cuts import entry_of, names_of, shortest
from effax.effects.frames import describe
from effax.effects.mesh import UNCONSTRAINED, PartitionSpec, placing_mesh
from effax.effects.program import Program, Variable, programs_in
from effax.effects.rows.control import call
from effax.effects.types import complex128, str_long


@attrs.frozen(slots=True)
class ProgramLayout:
    """The devices of a program, all operands' placements there, and what its results are named in.

    `where` is one device, or the replicated placement on several. `ins` has a placement for each
    operand, `outs` one for each result or None where the compiler chooses.
    """

    where: Placement
    ins: tuple[Placement, ...] = ()
    committed: bool = False
    mesh: Mesh | None = None
    outs: tuple[Sharding | None, ...] | None = None
    known: tuple[NamedSharding, ...] = ()

    @property
    def is_single(self) -> bool:
        """Whether there is one device."""
        return self.where.is_single

    def name(
        self, placement: Placement, ndim: int, asked: Sharding | None = None
    ) -> Sharding | None:
        """Return the name of the placement of a result with so many axes.

        As it was asked for, as that of an operand is, or in the words of the mesh.
        """
        if asked is not None and asked is not placement and not _open(asked):
            return asked
        if isinstance(asked, NamedSharding) and isinstance(asked.mesh, Mesh) and _open(asked):
            named = asked.mesh.named(placement)
            if named is None or not asked.mesh.explicit_axes:
                return named
            return _merged(asked, named, ndim)
        for named in self.known:
            if named.placement() is placement and len(named.spec) <= ndim:
                return named
        return None if self.mesh is None else self.mesh.named(placement)


def alone(where: Placement | None, committed: bool = False) -> ProgramLayout:
    """The layout of a program on one device."""
    return ProgramLayout(default() if where is None else where, (), committed)


def layout_of(
    specs: Sequence[Spec],
    program: Program | None = None,
    ins: Sequence[Sharding | None] | None = None,
    outs: Sequence[Sharding | None] | None = None,
    what: str = "",
    captured: int = 0,
    names: Callable[[], Sequence[str]] | None = None,
) -> ProgramLayout:
    """Return the layout of a program: the devices its operands were put on, else the default ones.

    Args:
      specs: of the operands.
      program: the program.
      ins, outs: the shardings that operands and results are asked to have.
      what: the name of the function, for errors.
      captured: how many operands, the first ones, are values that the function closes over. Like
        operands that the program does not use, they are moved to the devices of the others.
      names: a function that returns the names of the other operands, for errors.

    Raises:
      ValueError: when operands, results, the meshes that the program mentions or that in context
        are on different devices.
    """
    asked = ins or (None,) * len(specs)
    place: _Claim | None = None
    mesh: Mesh | None = None
    committed = False
    known: dict[NamedSharding, None] = {}

    def claim(i: int) -> None:
        nonlocal place, mesh, committed
        wish, spec = asked[i], specs[i]
        here = spec.placement if wish is None else wish.placement()
        named = spec.named if wish is None else wish
        if wish is None and not spec.committed and here.is_single:
            return
        committed = True
        place = _agree(place, (here.devices, partial(_argument, i - captured, spec, what, names)))
        mesh = mesh or _mesh_of(named)
        if isinstance(named, NamedSharding):
            known[named] = None

    used = None if program is None else _used(program)
    moving = [
        asked[i] is None and (i < captured or not (used is None or used[i]))
        for i in range(len(specs))
    ]
    for i, moves in enumerate(moving):
        if not moves:
            claim(i)
    for sharding in outs or ():
        if sharding is not None:
            committed = True
            devices = sharding.placement().devices
            place = _agree(place, (devices, "explicit output sharding {}".format))
            mesh = mesh or _mesh_of(sharding)
    for mentioned in claims_in(program) if program is not None else ():
        committed = True
        place = _agree(place, (mentioned.devices, partial(_inside, mentioned)))
        mesh = mesh or mentioned.mesh
    context = placing_mesh()
    if isinstance(context, Mesh) and not context.empty:
        place = _agree(place, (context.flat, "jit's context mesh {}".format))
        mesh, committed = mesh or context, True
    for i, moves in enumerate(moving):
        if moves and (place is None or specs[i].placement.devices == place[0]):
            claim(i)
    if place is None:
        _refuse_no_devices(program, what)
        where = specs[0].placement if specs else default()
        return ProgramLayout(where, (where,) * len(specs))
    devices = place[0]
    where = single(devices[0]) if len(devices) == 1 else replicated(devices)
    found = []
    for spec, wish in zip(specs, asked, strict=True):
        at = spec.placement if wish is None else wish.placement()
        found.append(at if at.devices == devices else where)
    given = None if outs is None else tuple(outs)
    if program is not None and mesh is not None:
        types = program.out_types
        if mesh.explicit_axes or any([t.cut is not None for t in types]):
            given = _typed_outs(program, mesh, given or (None,) * len(types))
    return ProgramLayout(where, tuple(found), committed, mesh, given, tuple(known))


def _used(program: Program) -> list[bool]:
    """Whether the program reads or returns each of its operands."""
    read = {x for e in program.equations for x in e.inputs if type(x) is Variable}
    read.update(x for x in program.outputs if type(x) is Variable)
    return [x in read for x in program.inputs]


def _typed_outs(
    program: Program, mesh: Mesh, asked: Sequence[Sharding | None]
) -> tuple[Sharding | None, ...]:
    """The shardings of results that nobody asked to lie elsewhere: as their types say.

    Along axes that are not explicit, it is for the compiler to say. A result that is cut along
    nothing is over the mesh that it was resharded to, if it was, else over the program's.
    """
    last = {
        e.outputs[0]: e.attributes["sharding"].mesh
        for e in program.equations
        if e.effect.name == "reshard"
    }

    def of(x: Any) -> Sharding | None:
        type = x.type
        cut = type.cut
        shape = last.get(x, mesh) if cut is None else cut.mesh
        over = mesh if shape is mesh else over_devices(shape, mesh)
        if cut is None and not over.explicit_axes and not mesh.explicit_axes:
            return None
        entries = (None,) * type.ndim if cut is None else cut.entries
        kind = NamedSharding if over.are_all_axes_explicit else TypedSharding
        return kind(over, PartitionSpec(*entries))

    results = zip(program.outputs, asked, strict=True)
    return tuple(of(x) if wish is None else wish for x, wish in results)


def over_devices(shape: Any, mesh: Mesh) -> Mesh:
    """The mesh of these axes over the devices of another one, in their order.

    Args:
      shape: a mesh, perhaps without devices.
      mesh: the mesh whose devices it gets.
    """
    if mesh.shape_tuple == shape.shape_tuple and mesh.axis_types == shape.axis_types:
        return mesh
    if shape.size != mesh.size:
        raise ValueError(
            f"{shape} is over {shape.size} devices, and the program's mesh {mesh} over {mesh.size}"
        )
    grid = mesh.devices.reshape(shape.axis_sizes)
    return Mesh(grid, shape.axis_names, shape.axis_types)


def _refuse_no_devices(program: Program | None, what: str) -> None:
    """Raise `ValueError` for a program whose types are cut over a mesh that nothing lies on."""
    if program is None:
        return
    for mesh in shapes_in(program):
        if mesh.explicit_axes and mesh.size > 1:
            raise ValueError(
                f"{what or program.name}: its types are cut along the explicit axes of {mesh}, and "
                "no argument lies on the devices of that mesh; call it under "
                "`with effax.set_mesh(mesh):`"
            )


def _mesh_of(named: Any) -> Mesh | None:
    return named.mesh if isinstance(named, NamedSharding) else None


_Claim = tuple[tuple[Device, ...], Callable[[str], str]]
"""Devices, and a function from their text to a text of the part of a computation that has them."""


def _agree(one: _Claim | None, other: _Claim) -> _Claim:
    if one is None or one[0] == other[0]:
        return one or other
    told = []
    for devices, describing in (one, other):
        ids = [device.id for device in devices]
        platform = devices[0].platform.upper()
        told.append(describing(f"with device ids {ids} on platform {platform}"))
    raise ValueError(
        f"Received incompatible devices for jitted computation. Got {told[0]} and {told[1]}; move "
        "one of them with device_put"
    )


def _argument(
    i: int, spec: Spec, what: str, names: Callable[[], Sequence[str]] | None, where: str
) -> str:
    of = f" of {what}" if what else ""
    kind = "argument" if i >= 0 else "constant"
    name = f" {f'args[{i}]' if names is None else names()[i]}" if i >= 0 else ""
    return f"{kind}{name}{of} with shape {str_long(spec.type)} and {where}"


@attrs.frozen(slots=True)
class Claim:
    """An effect of a program that names devices, on which the whole program is to run."""

    devices: tuple[Device, ...]
    mesh: Mesh | None
    effect: str
    frame: Any


def _inside(claim: Claim, where: str) -> str:
    return f"{claim.effect} inside jit {where} at {describe(claim.frame)}"


def claims_in(program: Program) -> tuple[Claim, ...]:
    """One effect for each mesh or sharding over devices in a program, its parts included.

    The mesh of a call places that call alone, not a program that holds it.
    """
    found = program.memo.get("claims")
    if found is None:
        seen: dict[Any, Claim] = {}
        for e in program.equations:
            for value in _places(e):
                mesh = value if isinstance(value, Mesh) else getattr(value, "mesh", None)
                if isinstance(mesh, Mesh):
                    seen.setdefault(mesh, Claim(mesh.flat, mesh, e.effect.name, e.frame))
                elif isinstance(value, Placement):
                    seen.setdefault(value, Claim(value.devices, None, e.effect.name, e.frame))
            if e.effect.higher_order:
                for part in programs_in(e.attributes):
                    for claim in claims_in(part):
                        seen.setdefault(claim.mesh or claim.devices, claim)
        found = program.memo["claims"] = tuple(seen.values())
    return found


def _places(e: Any) -> Iterable[Any]:
    """The attributes of an equation that may say where its program runs; a call's are its own."""
    if e.effect is call:
        return ()
    if e.effect.name != "device_put":  # its row is not loaded by every program
        return e.attributes.values()
    sharding = e.attributes["sharding"]
    return () if isinstance(sharding, Placement) and sharding.is_single else (sharding,)


def meshes_in(program: Program) -> tuple[Mesh, ...]:
    """The meshes of devices that the effects of a program mention, those of its parts included."""
    return tuple([claim.mesh for claim in claims_in(program) if claim.mesh is not None])


def shapes_in(program: Program) -> tuple[Any, ...]:
    """The meshes without devices that a program's types and shardings are over."""
    found = program.memo.get("shapes")
    if found is None:
        seen: dict[Any, None] = {}
        for x in program.inputs:
            if x.type.cut is not None:
                seen[x.type.cut.mesh] = None
        for e in program.equations:
            for x in e.outputs:
                if x.type.cut is not None:
                    seen[x.type.cut.mesh] = None
            over = getattr(e.attributes.get("sharding"), "mesh", e.attributes.get("mesh"))
            if over is not None:
                seen[over.abstract_mesh] = None
            seen.update(dict.fromkeys(getattr(e.attributes.get("module"), "meshes", ())))
            if e.effect.higher_order:
                for part in programs_in(e.attributes):
                    seen.update(dict.fromkeys(shapes_in(part)))
        found = program.memo["shapes"] = tuple(seen)
    return found


def _knows(program: Program, dtype: Any) -> bool:
    """Whether some value of a program, or of one inside of it, is of a dtype."""
    results = (x for e in program.equations for x in e.outputs)
    return any(x.type.dtype == dtype for x in (*program.inputs, *results)) or any(
        _knows(p, dtype) for e in program.equations for p in e.programs()
    )


@attrs.frozen(slots=True)
class ModuleMesh:
    """The mesh of one module: axes fine enough that every placement in it is cut along some.

    `axes` are labels, strides among the devices and lengths, the slowest first. `kind` is what the
    devices call themselves.
    """

    axes: tuple[tuple[str, int, int], ...]
    size: int
    kind: str

    @classmethod
    def of(cls, layout: ProgramLayout, program: Program) -> ModuleMesh:
        """The coarsest such mesh for a program.

        Raises `NotImplementedError` where there is none: meshes of 2 x 3 and 3 x 2 devices; and for
        complex128 on TPUs, whose compiler would end the process.
        """
        if layout.where.device.platform == "tpu" and _knows(program, complex128):
            raise NotImplementedError(
                f"{program.name} has values of complex128, which XLA can't compile for several "
                "TPUs; use complex64, or real and imaginary parts"
            )
        size = len(layout.where.devices)
        meshes = [*meshes_in(program), *([layout.mesh] if layout.mesh else [])]
        outs = [x.placement() for x in layout.outs or () if x is not None and not _open(x)]
        shapes = [*meshes, *shapes_in(program)]
        digits = [digit for mesh in shapes for digit in mesh.strides().values()]
        for placement in (*layout.ins, *outs):
            digits += [digit for axis in _radices(placement) for digit in axis]
        ends = {1, size}
        for stride, count in digits:
            ends |= {stride, stride * count} if count > 1 else set()
        stops = sorted(ends)
        pairs = list(pairwise(stops))
        if any(b % a for a, b in pairs):
            raise NotImplementedError(
                f"a program can't use meshes that divide {size} devices in incompatible ways, "
                f"{[dict(m.shape) for m in meshes]}; use one mesh, or reshard between two programs"
            )
        names = {
            digit: str(name)
            for mesh in meshes[:1]
            for name, digit in mesh.strides().items()
            if str(name).isidentifier()
        }
        axes = [
            (names.get((a, b // a), f"_{i}"), a, b // a) for i, (a, b) in enumerate(pairs[::-1])
        ]
        kind = layout.where.device.device_kind
        return cls(tuple(sorted(axes, key=lambda axis: -axis[1])), size, kind)

    @property
    def text(self) -> str:
        """Its declaration in a module."""
        axes = ", ".join(f'"{label}"={length}' for label, _, length in self.axes)
        return f"sdy.mesh @mesh = <[{axes}]>"

    def labels(self, digits: Iterable[tuple[int, int]]) -> list[str]:
        """The axes that count as these strides and counts do, the slowest first."""
        found = []
        for stride, count in digits:
            inside = [label for label, s, _ in self.axes if stride <= s < stride * count]
            if prod(k for label, _, k in self.axes if label in inside) != count:
                raise ValueError(f"{self.text} has no axes for {count} places {stride} apart")
            found += inside
        return found

    def spec(
        self,
        dimensions: Sequence[Sequence[tuple[int, int]] | None],
        ndim: int,
        free: bool = False,
        whole: Sequence[tuple[int, int]] = (),
    ) -> str:
        """`<@mesh, [{"x"}, {}]>` from the digits of each axis; None is for one left open.

        All are open if they are `free`, but not to the digits along which an array is `whole`.
        """
        texts = []
        for i in range(ndim):
            digits = dimensions[i] if i < len(dimensions) else ()
            labels = [f'"{x}"' for x in self.labels(digits or ())]
            texts.append(f"{{{', '.join([*labels, *['?'] * (free or digits is None)])}}}")
        kept = ", ".join(f'"{x}"' for x in self.labels(whole))
        return f"<@mesh, [{', '.join(texts)}]{f', replicated={{{kept}}}' if kept else ''}>"

    def of_placement(self, placement: Placement, ndim: int) -> str:
        """Return the way in which a placement cuts an array of so many axes."""
        return self.spec(_radices(placement), ndim)

    def of_spec(self, mesh: Any, spec: PartitionSpec, ndim: int, only: Any = None) -> str:
        """Return the way in which a spec cuts an array; along the mesh axes `only`, if given."""
        strides = mesh.strides()
        dimensions: list[Any] = []
        for i in range(len(spec)):
            if spec[i] is UNCONSTRAINED:
                dimensions.append(None)
            else:
                names = [n for n in spec.names(i) if only is None or n in only]
                dimensions.append([strides[n] for n in names if strides[n][1] > 1])
        return self.spec(dimensions, ndim)

    def of_entries(self, mesh: Any, entries: Sequence[Any], around: Any = ()) -> str:
        """Return the way in which the entries of a type cut an array.

        If some axes of the mesh are not explicit, or there are some `around` that are mapped over,
        the compiler may cut the array along these too; along explicit axes it is as they say.
        """
        free = bool(around) or not mesh.are_all_axes_explicit
        strides = {n: digit for n, digit in mesh.strides().items() if digit[1] > 1}
        named = [() if e is UNCONSTRAINED else names_of(e) for e in entries]
        used = {n for names in named for n in names}
        whole = [n for n in mesh.explicit_axes if free and n in strides and n not in used]
        return self.spec(
            [[strides[n] for n in names if n in strides] for names in named],
            len(named),
            free,
            [strides[n] for n in whole if n not in around],
        )

    def of_sharding(self, sharding: Sharding, ndim: int) -> str:
        """Return the way in which a sharding cuts an array of so many axes."""
        if isinstance(sharding, TypedSharding):
            return self.of_entries(sharding.mesh, [*sharding.ranked(ndim).spec])
        if isinstance(sharding, NamedSharding):
            return self.of_spec(sharding.mesh, sharding.spec, ndim)
        return self.of_placement(sharding.placement(), ndim)

    def attributes(
        self, layout: ProgramLayout, program: Program
    ) -> tuple[Sequence[str], Sequence[str]]:
        """The attributes of the operands and results of a program over this mesh."""
        outs = layout.outs or (None,) * len(program.out_types)
        ins = [
            self.of_placement(where, len(t.shape))
            for where, t in zip(layout.ins, program.in_types, strict=True)
        ]
        results = [
            ""
            if asked is None
            else f"sdy.sharding = #sdy.sharding{self.of_sharding(asked, len(t.shape))}"
            for asked, t in zip(outs, program.out_types, strict=True)
        ]
        return [f"sdy.sharding = #sdy.sharding{text}" for text in ins], results


class TypedSharding(NamedSharding):
    """The sharding of a result as its type says; XLA may cut it along axes that aren't explicit."""

    __slots__ = ()

    @property
    def is_constraint(self) -> bool:
        """Whether some axes may be cut in any way: true."""
        return True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypedSharding) and super().__eq__(other)

    __hash__ = NamedSharding.__hash__


def _merged(asked: NamedSharding, found: NamedSharding, ndim: int) -> NamedSharding:
    """The sharding that was found, where axes of length 1 that were asked for left no trace.

    It has an entry for each axis if it is as the type says, and else ends with an axis that is cut.
    """
    entries: list[Any] = []
    for i, entry in enumerate(found.ranked(ndim).spec):
        told = () if i >= len(asked.spec) or asked.spec[i] is UNCONSTRAINED else asked.spec.names(i)
        entries.append(entry_of([*told, *(n for n in names_of(entry) if n not in told)]))
    spec = PartitionSpec(*entries)
    return found.update(spec=spec if spec == asked.ranked(ndim).spec else shortest(entries))


def _open(sharding: Sharding) -> bool:
    return isinstance(sharding, NamedSharding) and sharding.is_constraint


def _radices(placement: Placement) -> list[list[tuple[int, int]]]:
    found = radices(placement)
    if found is None:
        raise NotImplementedError(
            f"{placement} orders its devices in a way that no mesh in their order describes; put "
            "the array on a mesh first (device_put)"
        )
    return found
