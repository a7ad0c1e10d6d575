"""Writing StableHLO text: names, types, constants, functions; and how a cell is written."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs
import numpy as np

from effax.backends.xla.layout import ModuleMesh, ProgramLayout
from effax.backends.xla.lowering.locations import Locations
from effax.effects.columns import load_family
from effax.effects.dtypes import integer_range
from effax.effects.effect import Effect, only_effects
from effax.effects.errors import ArraySizeError, UnhandledEffectError
from effax.effects.interning import keep
from effax.effects.program import Equation, Program, Variable
from effax.effects.provenance import Tags, is_named, tags_of
from effax.effects.rows.naming import sink
from effax.effects.types import ShapedArray, element_name, is_integer
from effax.effects.value import is_symbolic, is_symbolic_length
from effax.interpreters.stage import stage

rules: Final[dict[Effect, Callable[..., Any]]] = {}
_families: Final[set[str]] = set()
_texts: Final[dict[ShapedArray, str]] = {}


def tensor(type: ShapedArray) -> str:
    """The StableHLO type: `tensor<2x3xf32>`, or `tensor<?x3xf32>` where a length is symbolic.

    Raises `ArraySizeError` for arrays whose bytes can't be counted: XLA would abort the process.
    """
    found = _texts.get(type)
    if found is None:
        known = [n for n in type.shape if not is_symbolic_length(n)]
        size = math.prod(known) * max(1, type.dtype.itemsize)
        # XLA multiplies the lengths without checking for overflow, even if a later one is 0.
        if size >= 2**63 or max(known, default=0) >= 2**63:
            raise ArraySizeError.of(type, size)
        dims = "".join(["?x" if is_symbolic_length(n) else f"{n}x" for n in type.shape])
        found = keep(_texts, type, f"tensor<{dims}{element_name(type.dtype)}>")
    return found


class Name(str):
    """An SSA name that knows its type: `f"stablehlo.sine {x} : {x.text}"`."""

    __slots__ = ("bits", "type")

    bits: Name
    """The integers that a narrow float is made of; set by `elementwise.of_bits`."""
    type: ShapedArray

    @property
    def text(self) -> str:
        """The StableHLO type of the value."""
        return tensor(self.type)

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the value's axes."""
        return self.type.shape

    @property
    def dtype(self) -> Any:
        """The type of its elements."""
        return self.type.dtype


@attrs.frozen
class NotMapped:
    """The name of an axis of the mesh that no program around is mapped over."""

    name: Any


class Splat(Name):
    """The name of a constant that is one number everywhere."""

    __slots__ = ("value",)

    value: Any


def named(text: str, type: ShapedArray) -> Name:
    """A name with a type."""
    name = Name(text)
    name.type = type
    return name


answered: Final[set[str]] = {"callback", "debug_check", sink.row}
"""Rows that may reach the compiler: of their effects there are rules, or lowering knows of them."""


def rule(*effects: Effect) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Fill cells of the lowering.

    The rule is called with the writer, the list of result types, the operands (`Name`s) and the
    attributes; it writes lines and returns the result's name (a list for several results).
    """

    only_effects("extend.lowering.rule", effects)

    def fill(function: Callable[..., Any]) -> Callable[..., Any]:
        for effect in effects:
            rules[effect] = function
        return function

    return fill


def rule_of(effect: Effect) -> Callable[..., Any] | None:
    """The cell of an effect, or None; its family's files are imported when first asked for."""
    if effect.family not in _families:
        load_family("effax.backends.xla.lowering", effect.family)
        load_family("effax.backends.xla.fast", effect.family)
        _families.add(effect.family)
    return rules.get(effect)


class Writer:
    """One module being written: its functions, and the lines of the one now open.

    Lines say where they come from if `locations` are given. `scoped` is whether an equation has a
    scope by name, so that they should. While a rule works, `equation` is its equation, of
    `program`, whose variables have `names`. `plainly` is whether no fast path is worth its length.
    `knows_nan` is whether the compiler will meet a NaN, `found_nan` whether one was written, and
    `careless` whether something was that it spoils.
    """

    program: Program
    equation: Any
    names: dict[Any, Name]

    def __init__(
        self, platform: str = "cpu", locations: Locations | None = None, knows_nan: bool = False
    ) -> None:
        self.platform = platform
        self.functions: list[str] = []
        self.function_names: dict[Any, str] = {}
        self.function_texts: dict[str, str] = {}
        self.taken: set[str] = set()
        self.lines: list[str] = []
        self.counter = 0
        self.constants: dict[Any, Name] = {}
        self.callbacks: list[Callable[..., Any]] = []
        self.axes: dict[Any, Any] = {}
        self.mesh: ModuleMesh | None = None
        self.sharding_groups: dict[Any, int] = {}
        self.asked: Any = None  # values whose placement the compiler says; None if nobody hears
        self.channels = 1  # collectives have the first
        self.module_attributes: list[str] = []
        self.leave: Callable[[Writer, Sequence[Name]], Sequence[Name]] | None = None
        """Changes the results of the whole program before they leave it, where a rule asks."""
        self.paths: set[str] = set()
        self.locations = locations
        self.scoped = False
        self.plainly = False
        self.knows_nan = knows_nan
        self.found_nan = False
        self.careless = False
        self.uses: tuple[Program, Any] | None = None
        """A program, the last that was asked about, and the equations that read its variables."""
        self.makers: tuple[Program, dict[Any, Equation]] | None = None
        """The same of the equations that make its variables."""
        self.unknowns: dict[str, Name] = {}
        """The scalar (i64) of each unknown of symbolic lengths, an operand of each function."""
        self.unknowns_scope: Any = None
        """The scope of these unknowns."""
        self.symbolic: Any = None
        """The module `backends.xla.symbolic`, while there are unknowns."""
        self.rule_for: Any = None
        """The function that returns the rule of an equation, while there are unknowns."""
        self.region_of: str | None = None
        """The shard_map that is being written, in whose region lengths are not refined."""

    def declare(self, mesh: ModuleMesh) -> None:
        """Write the module for all devices of a mesh."""
        self.mesh = mesh
        self.functions.append(mesh.text)
        self.module_attributes += [
            f"mhlo.num_partitions = {mesh.size} : i32",
            "mhlo.num_replicas = 1 : i32",
        ]

    @property
    def is_partly_mapped(self) -> bool:
        """Whether the lines now written are for places along some axes of the mesh, not all."""
        return any(type(name) is NotMapped and axis.size > 1 for name, axis in self.axes.items())

    def fresh(self, type: ShapedArray) -> Name:
        """A name not used yet."""
        self.counter += 1
        return named(f"%{self.counter}", type)

    def op(self, text: str, type: ShapedArray) -> Name:
        """Write `%n = text`; the result's name."""
        self.counter += 1
        name = Name(f"%{self.counter}")
        name.type = type
        self.lines.append("".join((name, " = ", text)))
        return name

    def same(self, operation: str, operands: Sequence[Name], type: ShapedArray) -> Name:
        """`%n = operation operands : type`: operands and result have one type."""
        self.counter += 1
        name = Name(f"%{self.counter}")
        name.type = type
        xs = operands[0] if len(operands) == 1 else ", ".join(operands)
        text = _texts.get(type) or tensor(type)
        # A join takes half the time of an f-string, whose formatting of a `Name` is a call.
        self.lines.append("".join((name, " = ", operation, " ", xs, " : ", text)))
        return name

    def ops(self, text: str, types: Sequence[ShapedArray]) -> list[Name]:
        """Write an operation of several results; their names."""
        self.counter += 1
        if len(types) == 1:
            return [self.op(text, types[0])]
        base = f"%{self.counter}"
        self.lines.append(f"{base}:{len(types)} = {text}" if types else text)
        return [named(f"{base}#{i}", t) for i, t in enumerate(types)]

    def call(
        self,
        function: str,
        operands: Sequence[Name],
        types: Sequence[ShapedArray],
        apart: bool = False,
        own: bool = False,
        metadata: Tags = (),
    ) -> list[Name]:
        """Call a function of the module, which XLA doesn't inline if `apart`; name the results.

        One that was written for a program is its `own`, and takes the unknowns. With
        `metadata` for XLA the call has that instead.
        """
        if self.unknowns and own:
            operands = [*self.unknowns.values(), *operands]
        ins, outs = ", ".join(x.text for x in operands), ", ".join(map(tensor, types))
        kept = _APART if apart else ""
        if metadata:
            from effax.backends.xla.lowering.tagging import as_attribute

            kept = f" {{{as_attribute(metadata)}}}"
        line = f"func.call @{function}({', '.join(operands)}){kept} : ({ins}) -> ({outs})"
        return self.ops(line, types)

    def simple(self, operation: str, operands: Sequence[Name], type: ShapedArray) -> Name:
        """`%n = stablehlo.operation operands : (types) -> type`."""
        types = ", ".join(tensor(x.type) for x in operands)
        return self.op(
            f"stablehlo.{operation} {', '.join(operands)} : ({types}) -> {tensor(type)}", type
        )

    def tag(self, value: Name, tags: Tags) -> None:
        """Put metadata for XLA on the operation that makes a value, if it is in the lines open."""
        from effax.backends.xla.lowering.tagging import tag_line

        made = str(value).partition("#")[0]
        for i in range(len(self.lines) - 1, -1, -1):
            if self.lines[i].startswith((f"{made} = ", f"{made}:")):
                text, mark, where = self.lines[i].rpartition(" loc(#loc")
                tagged = tag_line(text if mark else where, tags)
                self.lines[i] = f"{tagged}{mark}{where}" if mark else tagged
                return

    def constant(self, value: Any, type: ShapedArray) -> Name:
        """A splat: the scalar everywhere in a tensor of that type."""
        key: Any = value, type
        # Compare bits and types: zero may be -0.0, and a Boolean equals a number.
        plain = value.__class__ in _PLAIN and value
        if plain and key in self.constants:
            return self.constants[key]
        text = number(value, type.dtype)
        self.found_nan = self.found_nan or value != value
        found = self.constants.get((text, type))
        if found is None:
            if self.unknowns and is_symbolic(type.shape):
                made = self.symbolic.splat(self, value, type)
            else:
                made = self.op(f"stablehlo.constant dense<{text}> : {tensor(type)}", type)
            found = Splat(made)
            found.type = type
            found.value = value
            self.constants[text, type] = found
        if plain:
            self.constants[key] = found
        return found

    def array(self, value: np.ndarray[Any, Any]) -> Name:
        """A small constant array, element by element."""
        type = ShapedArray(value.shape, value.dtype)
        self.found_nan = self.found_nan or bool((value != value).any())
        return self.op(f"stablehlo.constant dense<{nested(value)}> : {tensor(type)}", type)

    def scope(self) -> Scope:
        """A nested region: constants made inside it are not seen outside."""
        return Scope(self)

    def performed(self, function: Callable[..., Any], *operands: Name) -> Name:
        """Write what a function of the object language performs; the name of its result.

        It says the same of operands however they are cut.
        """
        types = [x.type.cut_by(None) for x in operands]
        return self.body(stage(lambda *xs: [function(*xs)], types, "part").program, operands)[0]

    def body(self, program: Program, arguments: Sequence[Name], part: str = "") -> list[Name]:
        """Write a program's equations in place; the names of its results.

        `part` is what locations call it, within the equation that it is a program of.
        """
        names: dict[Any, Name] = dict(zip(program.inputs, arguments, strict=True))
        locations = self.locations
        if locations is not None and part:
            around, locations.prefix = locations.prefix, f"{locations.prefix}/{part}"
        for e in program.equations:
            if e.scope and not self.scoped:
                self.scoped = is_named(e.scope)
            start, tags = len(self.lines), tags_of(e.scope)
            if locations is not None:
                before = locations.enter(e)
            operands = [
                names[x] if type(x) is Variable else self.constant(x.value, x.type)
                for x in e.inputs
            ]
            found = self.rule_for(e) if self.unknowns else rule_of(e.effect)
            if found is None:
                raise UnhandledEffectError.at_lowering(e)
            outputs = e.outputs
            self.program, self.equation, self.names = program, e, names
            result = found(self, [x.type for x in outputs], *operands, **e.attributes)
            if self.mesh is not None and (over := _explicit_mesh(e)) is not None:
                result = self.placed(over, outputs, result)
            if e.effect.multiple:
                names.update(zip(outputs, result, strict=True))
            else:
                names[outputs[0]] = result
            if tags:
                from effax.backends.xla.lowering.tagging import tag_lines

                tag_lines(self.lines, start, tags)
            if locations is not None:
                locations.leave(self.lines, start, e, before)
        if locations is not None and part:
            locations.prefix = around
        return [
            names[x] if type(x) is Variable else self.constant(x.value, x.type)
            for x in program.outputs
        ]

    def placed(self, over: Any, outputs: Sequence[Variable], result: Any) -> Any:
        """The results of an equation, put where their types say along the explicit axes of a mesh.

        All of them, those that are cut along none included: else the compiler would choose.
        """
        mesh = self.mesh
        if mesh is None or (self.axes and not self.is_partly_mapped):
            return result
        found: list[Any] = []
        for x, name in zip(outputs, result if type(result) is list else [result], strict=True):
            if name is None:  # nothing uses it, so that it was not written
                found.append(name)
                continue
            entries = (None,) * x.type.ndim if x.type.cut is None else x.type.cut.entries
            where = mesh.of_entries(over, entries, self.axes)
            found.append(self.op(f"sdy.sharding_constraint {name} {where} : {name.text}", x.type))
        return found if type(result) is list else found[0]

    def function(self, program: Program, name: str | None = None) -> str:
        """The function a program is written as, once for all programs of the same text."""
        found = self.function_names.get(program)
        if found is None:
            wanted = self._name(name or program.name)
            text = self.function_text(program, "", "private")
            found = self.function_names[program] = self.function_texts.setdefault(text, wanted)
            if found is wanted:
                self.functions.append(text.replace(" @(", f" @{found}(", 1))
            else:
                self.taken.remove(wanted)
        return found

    def function_text(
        self,
        program: Program,
        name: str,
        visibility: str,
        argument_attributes: Sequence[str] | None = None,
        result_attributes: Sequence[str] | None = None,
    ) -> str:
        """A program as a `func.func`."""
        saved = self.lines, self.counter, self.constants
        self.lines, self.counter, self.constants = [], 0, {}
        locations = self.locations
        if locations is not None:
            # XLA puts the path of the call before the paths inside of a private function.
            before, locations.prefix = (
                locations.prefix,
                "" if visibility == "private" else (f"jit({program.name})"),
            )
        arguments = [named(f"%a{i}", t) for i, t in enumerate(program.in_types)]
        given = [*self.unknowns.values(), *arguments]
        results: Sequence[Name] = self.body(program, arguments)
        if self.leave is not None and visibility == "public":
            results = self.leave(self, results)
        types = ", ".join(map(tensor, program.out_types))
        self.lines.append(f"return {', '.join(results)} : {types}" if results else "return")
        ins = ", ".join(
            f"{x}: {x.text}{_braced(argument_attributes, i)}" for i, x in enumerate(given)
        )
        outs = ", ".join(
            f"{tensor(t)}{_braced(result_attributes, i)}" for i, t in enumerate(program.out_types)
        )
        lines = "\n".join(self.lines)
        self.lines, self.counter, self.constants = saved
        if locations is not None:
            locations.prefix = before
        return f"func.func {visibility} @{name}({ins}) -> ({outs}) {{\n{lines}\n}}"

    def _name(self, wanted: str) -> str:
        # MLIR's names are ASCII; Python's need not be: `def σ(x)`. Dots are both's.
        base = re.sub(r"[^A-Za-z0-9_.]", "_", wanted) or "f"
        base = f"_{base}" if base[0] in ".0123456789" else base
        name, n = base, 0
        while name in self.taken:
            n += 1
            name = f"{base}_{n}"
        self.taken.add(name)
        return name

    def region(
        self, arguments: Sequence[ShapedArray], write: Callable[..., Sequence[Name]], end: str
    ) -> str:
        """A region `{ ^bb0(...): ... end results : types }` whose lines `write(*names)` writes."""
        with self.scope() as inner:
            names = [self.fresh(t) for t in arguments]
            results = write(*names)
            types = ", ".join(x.text for x in results)
            tail = f" {', '.join(results)} : {types}" if results else ""
            lines = [*inner.lines(), f"{end}{tail}"]
        head = ", ".join(f"{x}: {x.text}" for x in names)
        label = f"^bb0({head}):\n" if names else ""
        return "{\n" + label + "\n".join(lines) + "\n}"

    def module(self, text: str, name: str) -> str:
        """The module's whole text, around its main function."""
        attributes = (
            f" attributes {{{', '.join(self.module_attributes)}}}"
            if (self.module_attributes)
            else ""
        )
        inside = "\n".join([text, *self.functions])
        places = self.locations.definitions() if self.locations is not None else ""
        return f"module @{name}{attributes} {{\n{inside}\n}}\n{places}"


class Scope:
    """Lines written apart, for a region; constants of the outside stay visible within."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer

    def __enter__(self) -> Scope:
        self.saved = self.writer.lines, self.writer.constants
        self.writer.lines = []
        self.writer.constants = dict(self.saved[1])
        return self

    def lines(self) -> list[str]:
        """Return the lines written inside so far."""
        return self.writer.lines

    def __exit__(self, *exception: object) -> None:
        self.writer.lines, self.writer.constants = self.saved


def _explicit_mesh(e: Any) -> Any:
    """The mesh along whose explicit axes operands of an equation are cut; None if along none."""
    from effax.effects.rows.sharding import opened, put, reshard

    if e.effect in (opened, put, reshard):
        return None
    return next((x.type.cut.mesh for x in e.inputs if x.type.cut is not None), None)


def _braced(attributes: Sequence[str] | None, i: int) -> str:
    return f" {{{attributes[i]}}}" if attributes and attributes[i] else ""


def nested(value: np.ndarray[Any, Any]) -> str:
    """The elements of an array in StableHLO's syntax, in brackets an axis."""
    if value.ndim == 0:
        return number(value[()], value.dtype)
    if value.size == 0:
        return ""
    return "[" + ", ".join(map(nested, value)) + "]"


_APART: Final = ' {mhlo.frontend_attributes = {inlineable = "false"}}'
_PLAIN: Final = frozenset({float, int})
_HEX_BITS: Final = {2: np.uint16, 4: np.uint32, 8: np.uint64, 1: np.uint8}


def number(value: Any, dtype: Any) -> str:
    """A number in StableHLO's syntax; floats that decimal digits can't give are given as bits.

    Raises `OverflowError` for a Python int that the dtype can't hold.
    """
    kind = dtype.kind
    if kind == "b":
        return "true" if value else "false"
    if kind == "c":
        part = np.float32 if dtype.itemsize == 8 else np.float64
        value = complex(value)
        real, imag = np.dtype(part), np.dtype(part)
        return f"({number(value.real, real)}, {number(value.imag, imag)})"
    if kind in "iu" or (kind == "V" and is_integer(dtype)):
        if type(value) is int:  # NumPy's are elements of an array of that dtype
            least, greatest = integer_range(dtype)
            if not least <= value <= greatest:
                raise OverflowError(f"Python int {value} too large to convert to {dtype}")
        return str(int(value))
    exact = np.asarray(value).astype(dtype)
    as_float = float(exact)
    if as_float == 0.0 and not np.signbit(as_float):
        return "0.0"
    if np.isfinite(as_float) and dtype.itemsize >= 4:
        return repr(as_float) if "e" not in repr(as_float) else f"{as_float:.17e}"
    bits = exact.view(_HEX_BITS[dtype.itemsize])
    return f"0x{int(bits):0{2 * dtype.itemsize}X}"


def module_text(
    program: Program,
    platform: str = "cpu",
    argument_attributes: Sequence[str] | None = None,
    located: bool = False,
    layout: ProgramLayout | None = None,
    mesh: ModuleMesh | None = None,
    asked: list[Any] | None = None,
) -> tuple[str, list[Callable[..., Any]]]:
    """The StableHLO module of a program, and the host callbacks it calls, in order.

    Its lines have locations if `located`, or if the program has scopes by name. With a mesh it is
    a program for all of the mesh's devices, its operands and results cut up as the layout says;
    then those who asked where a value lies are put in the list `asked`, if there is one.
    """

    def write(w: Writer) -> str:
        w.taken.add("main")
        if asked is not None and mesh is not None:
            asked.clear()
            w.asked = asked
        attributes: tuple[Sequence[str] | None, Sequence[str] | None] = argument_attributes, None
        if mesh is not None and layout is not None:
            w.declare(mesh)
            attributes = mesh.attributes(layout, program)
        text = w.function_text(program, "main", "public", *attributes)
        return w.module(text, w._name(f"jit_{program.name}"))

    return written(write, platform, located)


def written(
    write: Callable[[Writer], str], platform: str, located: bool = False, knows_nan: bool = False
) -> tuple[str, list[Callable[..., Any]]]:
    """The module that a function writes, and the host callbacks it calls, in order.

    It is written once more, with locations, if that is not asked for but there are scopes; and with
    care, if there is a NaN in it and something that it spoils.
    """
    writer = Writer(platform, Locations() if located else None, knows_nan)
    text = write(writer)
    scoped, spoiled = writer.scoped and not located, writer.found_nan and writer.careless
    if scoped or spoiled:
        return written(write, platform, located or scoped, knows_nan or spoiled)
    return text, writer.callbacks
