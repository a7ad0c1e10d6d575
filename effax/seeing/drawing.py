"""`visualize`: a program as a picture."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any, Final

import attrs

from effax.effects.frames import describe
from effax.effects.printing import Printer
from effax.effects.program import Equation, Literal, Program, Variable
from effax.seeing.layout import Arrangement, DrawnBox, Link, lay_out

_CHARACTER: Final = 7.3
_SMALL: Final = 6.1
_LINE: Final = 16.0
_LABEL: Final = 15.0
_PAD: Final = 10.0
_MARGIN: Final = 16.0
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

_STYLE: Final = """\
text { font: 12px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #1f2328 }
.name { font-weight: 600 }
.small, .type { font-size: 10px; fill: #57606a }
.type { paint-order: stroke; stroke: white; stroke-width: 3px; stroke-linejoin: round }
.edge { fill: none; stroke: #8c959f; stroke-width: 1.2 }
.variable { fill: white; stroke: #57606a }
.panel { fill: white; stroke: #d0d7de }
"""


@attrs.frozen(eq=False)
class Drawing:
    """A picture: `svg` is its text; notebooks show it, `save(path)` writes it."""

    svg: str
    width: float
    height: float

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: Any) -> Path:
        """Write the picture to a file; gives its path."""
        where = Path(path)
        where.write_text(self.svg, encoding="utf-8")
        return where

    def __repr__(self) -> str:
        return f"<drawing, {self.width:.0f} by {self.height:.0f}>"


def visualize(program: Any, path: Any = None) -> Drawing:
    """Draw a program: a box for each equation, in rows, from the inputs down to the results.

    Edges are variables, with their types where they begin. The programs of loops, branches and
    calls are drawn inside the box that holds them. A colour is a family of effects. Pointing at a
    box shows its attributes and the user's line.

    Args:
      program: as `make_program(f)(*args)` gives it; or what has a `program`, `jit(f).trace(*args)`.
      path: a file to write the picture to.

    Returns:
      A `Drawing`, which notebooks show.

    Raises:
      TypeError: for what is no program.

    >>> import effax
    >>> program = effax.make_program(lambda x: effax.numpy.sin(x) * x)(1.0)
    >>> drawing = effax.visualize(program)
    >>> drawing.svg[:4], drawing.svg.count('class="effect"')
    ('<svg', 2)
    """
    found = program if isinstance(program, Program) else getattr(program, "program", None)
    if not isinstance(found, Program):
        raise TypeError(
            f"visualize: expected a program, got {type(program).__name__}; "
            "effax.make_program(f)(*args) returns the program of a function"
        )
    drawing = _Whole(found).drawing()
    if path is not None:
        drawing.save(path)
    return drawing


def colour(family: str, lightness: int = 90) -> str:
    """The colour of a family of effects."""
    if family in _GREY:
        return f"hsl(210, 12%, {min(lightness + 4, 97)}%)"
    hue = _HUES.get(family, zlib.crc32(family.encode()) % 360)
    return f"hsl({hue}, 75%, {lightness}%)"


class _Whole:
    """The picture of the outermost program, with its frame and legend."""

    def __init__(self, program: Program) -> None:
        self.families: dict[str, None] = {}
        self.picture = _Picture(program, Printer(), self.families)

    def drawing(self) -> Drawing:
        picture = self.picture
        legend, legend_width, legend_height = self.legend(max(picture.width, 320.0))
        width = max(picture.width, legend_width) + 2 * _MARGIN
        height = picture.height + legend_height + 2 * _MARGIN
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
            f'width="{width:.0f}" height="{height:.0f}">',
            f"<style>{_STYLE}</style>",
            f'<rect class="page" width="{width:.0f}" height="{height:.0f}" fill="white"/>',
            *picture.write(_MARGIN, _MARGIN),
            *(legend(_MARGIN, _MARGIN + picture.height) if self.families else ()),
            "</svg>",
        ]
        return Drawing("\n".join(lines) + "\n", width, height)

    def legend(self, width: float) -> tuple[Any, float, float]:
        places, x, y, widest = [], 0.0, 20.0, 0.0
        for family in self.families:
            wide = 18 + len(family) * _SMALL + 14
            if x and x + wide > width:
                x, y = 0.0, y + 16
            places.append((family, x, y))
            x += wide
            widest = max(widest, x)

        def write(left: float, top: float) -> list[str]:
            lines = []
            for family, x, y in places:
                fill, edge = colour(family), colour(family, 60)
                lines.append(
                    f'<rect class="legend" x="{left + x:.1f}" y="{top + y:.1f}" width="10" '
                    f'height="10" fill="{fill}" stroke="{edge}"/>'
                )
                lines.append(_text(left + x + 15, top + y + 9, family, "small"))
            return lines

        return write, widest, y + 12 if places else 0.0


class _Picture:
    """A program laid out: how large it is, and its lines at a place."""

    def __init__(self, program: Program, printer: Printer, families: dict[str, None]) -> None:
        self.printer = printer
        self.items: list[_Item] = []
        makers: dict[Variable, tuple[DrawnBox, int]] = {}
        links: list[Link] = []
        first = [self.add(_Item.of_input(x, printer), makers, [x]) for x in program.inputs]
        for e in program.equations:
            families.setdefault(e.effect.family)
            box = self.add(_Item.of_equation(e, printer, families), makers, e.outputs)
            operands = [x for x in e.inputs if type(x) is Variable]
            links += [Link(*makers[x], box, i) for i, x in enumerate(operands)]
        last = []
        for i, x in enumerate(program.outputs):
            box = self.add(_Item.of_result(x, i, len(program.outputs)), makers, [])
            last.append(box)
            if type(x) is Variable:
                links.append(Link(*makers[x], box, 0))
        self.links = links
        self.layout: Arrangement = lay_out([item.box for item in self.items], links, first, last)
        self.width, self.height = self.layout.width, self.layout.height

    def add(self, item: _Item, makers: dict[Any, Any], variables: Sequence[Variable]) -> DrawnBox:
        self.items.append(item)
        makers.update((x, (item.box, i)) for i, x in enumerate(variables))
        return item.box

    def write(self, left: float, top: float) -> list[str]:
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
            lines.append(
                f'<path class="edge" d="M {x:.1f} {y:.1f} L {x:.1f} {start:.1f} '
                f"C {x:.1f} {middle:.1f} {to:.1f} {middle:.1f} {to:.1f} {end:.1f} "
                f'L {to:.1f} {below:.1f}"/>'
            )
            x, y, row = to, below, box.row
        return lines


class _Item:
    """A box of the picture: a variable, a result, or an effect with the programs inside it."""

    def __init__(
        self,
        kind: str,
        title: str,
        note: str,
        tip: str,
        family: str,
        types: Sequence[str],
        operands: int,
        panels: Sequence[tuple[str, _Picture]] = (),
    ) -> None:
        self.kind, self.title, self.note, self.tip, self.family = kind, title, note, tip, family
        self.types = types
        self.panels = panels
        labels = [len(t) * _SMALL + 10 for t in types]
        width = max(len(title) * _CHARACTER, len(note) * _SMALL) + 2 * _PAD
        width = max(width, 2 * labels[0] if len(labels) == 1 else sum(labels) + _PAD)
        width = max(width, 12.0 * (operands + 1))
        self.head = _LINE + 8 + (_LINE - 3 if note else 0.0)
        inside = [(p.width + 2 * _PAD, p.height + _LINE + 2 * _PAD) for _, p in panels]
        self.panel_sizes = inside
        if inside:
            width = max(width, sum(w for w, _ in inside) + _PAD * (len(inside) + 1))
        self.body = self.head + (max(h for _, h in inside) + _PAD if inside else 0.0)
        height = self.body + (_LABEL if types else 0.0)
        self.box: DrawnBox = DrawnBox(width, height, _outs(width, labels), _ins(width, operands))

    @classmethod
    def of_input(cls, x: Variable, printer: Printer) -> _Item:
        text = x.type.str_short()
        return cls("variable", printer.atom(x), "", f"an input: {text}", "", [text], 0)

    @classmethod
    def of_result(cls, x: Any, i: int, count: int) -> _Item:
        title = "result" if count == 1 else f"result {i}"
        if isinstance(x, Literal):
            title += f" = {_short(str(x.value), 16)}"
        return cls("variable", title, "", f"a result: {x.type.str_short()}", "", [], 1)

    @classmethod
    def of_equation(cls, e: Equation, printer: Printer, families: dict[str, None]) -> _Item:
        title = e.effect.name
        if any(isinstance(x, Literal) for x in e.inputs):
            shown = [_short(str(x.value), 12) if isinstance(x, Literal) else "·" for x in e.inputs]
            title += f"({', '.join(shown)})"
        plain, panels = [], []
        for name, value in e.attributes.items():
            if type(value) is Program:
                panels.append((name, _Picture(value, printer, families)))
            elif type(value) is tuple and any(type(p) is Program for p in value):
                for i, p in enumerate(value):
                    panels.append((f"{name} {i}", _Picture(p, printer, families)))
            elif value is not None:
                plain.append(f"{name}={printer.attribute(value, '')}")
        text = " ".join(plain)
        types = [x.type.str_short() for x in e.outputs]
        operands = sum(type(x) is Variable for x in e.inputs)
        return cls(
            "effect",
            title,
            _short(text, _LONGEST),
            _tip(e, text),
            e.effect.family,
            types,
            operands,
            panels,
        )

    def write(self, x: float, y: float) -> list[str]:
        width = self.box.width
        fill = (
            f' fill="{colour(self.family)}" stroke="{colour(self.family, 60)}"'
            if self.family
            else ""
        )
        lines = [
            f"<g><title>{escape(self.tip, quote=False)}</title>",
            f'<rect class="{self.kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
            f'height="{self.body:.1f}" rx="5"{fill}/>',
            _text(x + width / 2, y + _LINE + 1, self.title, "name", "middle"),
        ]
        if self.note:
            lines.append(_text(x + width / 2, y + 2 * _LINE - 2, self.note, "small", "middle"))
        lines.append("</g>")
        lines += self.write_panels(x, y + self.head)
        for out, text in zip(self.box.outs, self.types, strict=True):
            lines.append(_text(x + width / 2 + out + 4, y + self.body + 11, text, "type"))
        return lines

    def write_panels(self, x: float, y: float) -> list[str]:
        lines: list[str] = []
        spare = self.box.width - sum(w for w, _ in self.panel_sizes)
        gap = spare / (len(self.panels) + 1)
        x += gap
        for (name, picture), (width, height) in zip(self.panels, self.panel_sizes, strict=True):
            lines.append(
                f'<rect class="panel" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
                f'height="{height:.1f}" rx="4"/>'
            )
            lines.append(_text(x + 6, y + 12, name, "small"))
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


def _tip(e: Equation, attributes: str) -> str:
    ins = ", ".join(x.type.str_short() for x in e.inputs)
    outs = ", ".join(x.type.str_short() for x in e.outputs)
    lines = [f"{e.effect.name}: {ins} -> {outs}", f"of the family {e.effect.family}"]
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


def _text(x: float, y: float, text: str, kind: str, anchor: str = "") -> str:
    where = f' text-anchor="{anchor}"' if anchor else ""
    inside = escape(text, quote=False)
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}"{where}>{inside}</text>'
