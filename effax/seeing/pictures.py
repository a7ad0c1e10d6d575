"""Parts of a drawing: the picture of a program, and the boxes in it."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from html import escape
from typing import Any, Final

import attrs

from effax.effects.frames import describe
from effax.effects.printing import Printer
from effax.effects.program import Equation, Literal, Program, Variable
from effax.seeing.costs import Cost, cost, total
from effax.seeing.folding import Part, fold, scope_of
from effax.seeing.layout import Arrangement, DrawnBox, Link, lay_out

_CHARACTER: Final = 7.3
SMALL: Final = 6.1
_LINE: Final = 16.0
_LABEL: Final = 15.0
_PAD: Final = 10.0
_LONGEST: Final = 40

_HUES: Final = {
    "elementwise": 210,
    "transcendental": 255,
    "special": 275,
    "comparison": 175,
    "logical": 185,
    "selection": 160,
    "conversion": 200,
    "reduction": 30,
    "cumulative": 40,
    "window": 50,
    "contraction": 0,
    "convolution": 12,
    "linalg": 345,
    "fourier": 330,
    "shape": 120,
    "indexing": 95,
    "sorting": 75,
    "random": 300,
    "complex": 235,
}
"""Families on the circle of colours; others are put where their name falls."""
_GREY: Final = frozenset({"control", "custom", "naming"})


def colour(family: str, lightness: int = 90) -> str:
    """The colour of a family of effects."""
    if family in _GREY:
        return f"hsl(210, 12%, {min(lightness + 4, 97)}%)"
    hue = _HUES.get(family, zlib.crc32(family.encode()) % 360)
    return f"hsl({hue}, 75%, {lightness}%)"


Shade = Callable[[Cost, Cost], float]
SHADES: Final[dict[str, Shade | None]] = {
    "family": None,
    "flops": lambda part, whole: part.flops / max(whole.flops, 1.0),
    "bytes": lambda part, whole: part.bytes / max(whole.bytes, 1.0),
}


@attrs.define(eq=False)
class Sheet:
    """State that all pictures of a drawing share: names, colours, and what has been drawn."""

    printer: Printer
    fold: bool
    shade: Shade | None
    whole: Cost
    families: dict[str, None] = attrs.field(factory=dict)
    drawn: dict[str, None] = attrs.field(factory=dict)

    def fill(self, family: str, part: Cost) -> str:
        """The attributes of a box's colour."""
        if self.shade is None:
            return f' fill="{colour(family)}" stroke="{colour(family, 60)}"'
        share = min(self.shade(part, self.whole), 1.0)
        return f' fill="hsl(8, 85%, {97 - 38 * share**0.5:.0f}%)" stroke="hsl(8, 25%, 60%)"'

    def panel(self, name: str, program: Program, depth: int = 0) -> tuple[str, Picture | None]:
        """The picture of a program inside a box; none if it was drawn before."""
        if self.fold and len(program.equations) > 1:
            text = str(program)
            if text in self.drawn:
                return f"{name}: drawn above", None
            self.drawn[text] = None
        return name, Picture(program, self, depth)


class Picture:
    """A program laid out: how large it is, and its lines at a place."""

    def __init__(self, program: Program, sheet: Sheet, depth: int = 0) -> None:
        self.items: list[Item] = []
        makers: dict[Variable, tuple[DrawnBox, int]] = {}
        links: list[Link] = []
        first = [self.add(Item.of_input(x, sheet), makers, [x]) for x in program.inputs]
        for e in fold(program, depth) if sheet.fold else program.equations:
            make = Item.of_part if isinstance(e, Part) else Item.of_equation
            box = self.add(make(e, sheet, depth), makers, e.outputs)  # type: ignore[arg-type]
            operands = [x for x in e.inputs if type(x) is Variable]
            links += [Link(*makers[x], box, i) for i, x in enumerate(operands)]
        last = []
        for i, x in enumerate(program.outputs):
            box = self.add(Item.of_result(x, i, len(program.outputs)), makers, [])
            last.append(box)
            if type(x) is Variable:
                links.append(Link(*makers[x], box, 0))
        self.links = links
        self.layout: Arrangement = lay_out([item.box for item in self.items], links, first, last)
        self.width, self.height = self.layout.width, self.layout.height

    def add(self, item: Item, makers: dict[Any, Any], variables: Sequence[Variable]) -> DrawnBox:
        """Take an item in, and note what it makes."""
        self.items.append(item)
        makers.update((x, (item.box, i)) for i, x in enumerate(variables))
        return item.box

    def write(self, left: float, top: float) -> list[str]:
        """The lines of the picture with this corner."""
        lines: dict[str, None] = {}
        for link in self.links:
            lines.update(dict.fromkeys(self.edge(link, left, top)))
        written = list(lines)
        for item in self.items:
            written += item.write(left + item.box.x - item.box.width / 2, top + item.box.y)
        return written

    def edge(self, link: Link, left: float, top: float) -> list[str]:
        """A line for each row it passes and a curve for each gap, those shared written once."""
        tops, bottoms = self.layout.tops, self.layout.bottoms
        here, row = link.source, link.source.row
        x = left + here.x + here.outs[link.out]
        y = top + here.y + here.height - (_LABEL if here.outs else 0.0)
        lines = []
        for box in [*link.joints, link.target]:
            to = left + box.x + (0.0 if box.joint else box.ins[link.into])
            start, end = top + bottoms[row], top + tops[box.row]
            below = end if box.joint else top + box.y
            middle = (start + end) / 2
            tip = "" if box.joint else ' marker-end="url(#arrow)"'
            lines.append(
                f'<path class="edge" d="M {x:.1f} {y:.1f} L {x:.1f} {start:.1f} '
                f"C {x:.1f} {middle:.1f} {to:.1f} {middle:.1f} {to:.1f} {end:.1f} "
                f'L {to:.1f} {below:.1f}"{tip}/>'
            )
            x, y, row = to, below, box.row
        return lines


class Item:
    """A box of the picture: a variable, a result, or an effect with the programs inside it."""

    def __init__(
        self,
        kind: str,
        title: str,
        note: str,
        tip: str,
        fill: str,
        types: Sequence[str],
        operands: int,
        panels: Sequence[tuple[str, Picture | None]] = (),
    ) -> None:
        self.kind, self.title, self.note, self.tip, self.fill = kind, title, note, tip, fill
        self.types = types
        self.panels = panels
        labels = [len(t) * SMALL + 10 for t in types]
        width = max(len(title) * _CHARACTER, len(note) * SMALL) + 2 * _PAD
        width = max(width, 2 * labels[0] if len(labels) == 1 else sum(labels) + _PAD)
        width = max(width, 12.0 * (operands + 1))
        self.head = _LINE + 8 + (_LINE - 3 if note else 0.0)
        inside = [
            (len(name) * SMALL + 2 * _PAD, _LINE + 2.0)
            if p is None
            else (max(p.width, len(name) * SMALL) + 2 * _PAD, p.height + _LINE + 2 * _PAD)
            for name, p in panels
        ]
        self.panel_sizes = inside
        if inside:
            width = max(width, sum(w for w, _ in inside) + _PAD * (len(inside) + 1))
        self.body = self.head + (max(h for _, h in inside) + _PAD if inside else 0.0)
        height = self.body + (_LABEL if types else 0.0)
        self.box: DrawnBox = DrawnBox(width, height, _outs(width, labels), _ins(width, operands))

    @classmethod
    def of_input(cls, x: Variable, sheet: Sheet) -> Item:
        """The box of an input."""
        text = x.type.str_short()
        return cls("variable", sheet.printer.atom(x), "", f"an input: {text}", "", [text], 0)

    @classmethod
    def of_result(cls, x: Any, i: int, count: int) -> Item:
        """The box of a result, one of so many."""
        title = "result" if count == 1 else f"result {i}"
        if isinstance(x, Literal):
            title += f" = {_short(str(x.value), 16)}"
        return cls("variable", title, "", f"a result: {x.type.str_short()}", "", [], 1)

    @classmethod
    def of_part(cls, part: Part, sheet: Sheet, depth: int) -> Item:
        """The box of equations that are drawn as one."""
        price = total(part.program.equations)
        price = Cost(part.times * price.flops, part.times * price.bytes)
        ins, outs = ([x.type.str_short() for x in xs] for xs in (part.inputs, part.outputs))
        lines = [f"{part.title}: {', '.join(ins)} -> {', '.join(outs)}", part.note, _priced(price)]
        tip = "\n".join([*filter(None, lines), describe(part.first.frame)])
        scoped = part.title == scope_of(part.first, depth)
        panel = sheet.panel("", part.program, depth + scoped)
        fill = sheet.fill("naming", price)
        return cls("effect", part.title, part.note, tip, fill, outs, len(ins), [panel])

    @classmethod
    def of_equation(cls, e: Equation, sheet: Sheet, depth: int = 0) -> Item:
        """The box of an equation, with the programs inside it."""
        printer, title, price = sheet.printer, e.effect.name, cost(e)
        sheet.families.setdefault(e.effect.family)
        if any(isinstance(x, Literal) for x in e.inputs):
            shown = [_short(str(x.value), 12) if isinstance(x, Literal) else "·" for x in e.inputs]
            title += f"({', '.join(shown)})"
        plain, panels = [], []
        for name, value in e.attributes.items():
            if type(value) is Program:
                panels.append(sheet.panel(name, value))
            elif type(value) is tuple and any(type(p) is Program for p in value):
                for i, p in enumerate(value):
                    panels.append(sheet.panel(f"{name} {i}", p))
            elif value is not None:
                plain.append(f"{name}={printer.attribute(value, '')}")
        text = " ".join(plain)
        types = [x.type.str_short() for x in e.outputs]
        operands = sum(type(x) is Variable for x in e.inputs)
        return cls(
            "effect",
            title,
            _short(text, _LONGEST),
            _tip(e, text, price),
            sheet.fill(e.effect.family, price),
            types,
            operands,
            panels,
        )

    def write(self, x: float, y: float) -> list[str]:
        """The lines of the box with this corner."""
        width = self.box.width
        lines = [
            f"<g><title>{escape(self.tip, quote=False)}</title>",
            f'<rect class="{self.kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
            f'height="{self.body:.1f}" rx="5"{self.fill}/>',
            text_at(x + width / 2, y + _LINE + 1, self.title, "name", "middle"),
        ]
        if self.note:
            lines.append(text_at(x + width / 2, y + 2 * _LINE - 2, self.note, "small", "middle"))
        lines.append("</g>")
        lines += self.write_panels(x, y + self.head)
        for out, text in zip(self.box.outs, self.types, strict=True):
            lines.append(text_at(x + width / 2 + out + 4, y + self.body + 11, text, "type"))
        return lines

    def write_panels(self, x: float, y: float) -> list[str]:
        """The lines of the pictures in the box."""
        lines: list[str] = []
        spare = self.box.width - sum(w for w, _ in self.panel_sizes)
        gap = spare / (len(self.panels) + 1)
        x += gap
        for (name, picture), (width, height) in zip(self.panels, self.panel_sizes, strict=True):
            lines.append(
                f'<rect class="panel" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
                f'height="{height:.1f}" rx="4"/>'
            )
            if name:
                lines.append(text_at(x + 6, y + 12, name, "small"))
            if picture is not None:
                lines += picture.write(x + _PAD, y + _LINE + _PAD)
            x += width + gap
        return lines


def _outs(width: float, labels: Sequence[float]) -> list[float]:
    """Place the outgoing results: in the middle, or each with room for its type on the right."""
    if len(labels) == 1:
        return [0.0]
    spare = (width - sum(labels)) / (len(labels) + 1)
    places, x = [], -width / 2
    for label in labels:
        x += spare
        places.append(x)
        x += label
    return places


def _ins(width: float, count: int) -> list[float]:
    return [width * ((i + 1) / (count + 1) - 0.5) for i in range(count)]


def _priced(price: Cost) -> str:
    return f"about {price.flops:.3g} operations and {price.bytes:.3g} bytes"


def _tip(e: Equation, attributes: str, price: Cost) -> str:
    ins = ", ".join(x.type.str_short() for x in e.inputs)
    outs = ", ".join(x.type.str_short() for x in e.outputs)
    lines = [f"{e.effect.name}: {ins} -> {outs}", f"of the family {e.effect.family}"]
    lines.append(_priced(price))
    if attributes:
        lines.append(attributes)
    if e.row:
        lines.append(f"leaves to be answered: {', '.join(sorted(e.row))}")
    if e.scope:
        lines.append(f"in {e.scope}")
    return "\n".join([*lines, describe(e.frame)])


def _short(text: str, longest: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= longest else text[: longest - 1] + "…"


def text_at(x: float, y: float, text: str, kind: str, anchor: str = "") -> str:
    """A line of text."""
    where = f' text-anchor="{anchor}"' if anchor else ""
    inside = escape(text, quote=False)
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}"{where}>{inside}</text>'
