"""`visualize`: a program as a picture."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any, Final

import attrs

from effax.api.calling.signatures import Parameters, leaf_names
from effax.api.compiling.staging import make_program
from effax.effects.printing import Printer
from effax.effects.program import Program
from effax.effects.tree import tree_flatten
from effax.seeing.costs import total
from effax.seeing.pictures import SHADES, SMALL, Picture, Sheet, colour, text_at

_MARGIN: Final = 16.0

_STYLE: Final = """\
text { font: 12px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #1f2328 }
.name { font-weight: 600 }
.small, .type { font-size: 10px; fill: #57606a }
.type { paint-order: stroke; stroke: white; stroke-width: 3px; stroke-linejoin: round }
.edge { fill: none; stroke: #8c959f; stroke-width: 1.2 }
.arrow { fill: #8c959f }
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
        """Write the picture to a file, in the format of its suffix: `.svg`, `.html` or `.png`.

        Args:
          path: the file. For `.png` the package `resvg_py` is needed.

        Returns:
          The path.

        Raises:
          ValueError: for another suffix.
          ImportError: for `.png`, where `resvg_py` is not installed.
        """
        where = Path(path)
        if where.suffix == ".png":
            where.write_bytes(_png(self.svg))
        elif where.suffix == ".html":
            where.write_text(f"<!doctype html>\n{self.svg}", encoding="utf-8")
        elif where.suffix == ".svg":
            where.write_text(self.svg, encoding="utf-8")
        else:
            raise ValueError(
                f"a drawing is saved as .svg, .html or .png, and not as {where.name!r}"
            )
        return where

    def __repr__(self) -> str:
        return f"<drawing, {self.width:.0f} by {self.height:.0f}>"


def _png(svg: str) -> bytes:
    try:
        resvg = import_module("resvg_py")
    except ImportError as error:
        raise ImportError(
            "a drawing is turned into a .png by the package resvg_py, which is not installed: "
            "`pip install resvg_py`, or save it as .svg"
        ) from error
    return bytes(resvg.svg_to_bytes(svg_string=svg, zoom=2, font_family="DejaVu Sans Mono"))


def visualize(
    program: Any, *args: Any, path: Any = None, fold: bool = True, color: str = "family"
) -> Drawing:
    """Draw a program: a box for each equation, in rows, from the inputs down to the results.

    Edges are variables, with their types where they begin. The programs of loops, branches and
    calls are drawn inside the box that holds them. Pointing at a box shows its attributes, its
    cost and the user's line.

    Args:
      program: a function, which is staged with the arguments that follow; or a program, as
        `make_program(f)(*args)` gives it; or what has a `program`, `jit(f).trace(*args)`.
      *args: the function's arguments. The inputs have their names.
      path: a file to write the picture to, as `Drawing.save` does.
      fold: draw the equations of a `named_scope` in a box of their own, of parts that repeat the
        first, and a program that was drawn before not again.
      color: what the colour of a box stands for: "family", the family of its effect; "flops" or
        "bytes", its share of the operations, or of the bytes of operands and results (estimated
        from types).

    Returns:
      A `Drawing`, which notebooks show.

    Raises:
      TypeError: for what is neither a program nor a function, and for arguments of a program.
      ValueError: for another `color`.

    >>> import effax
    >>> drawing = effax.visualize(lambda x: effax.numpy.sin(x) * x, 1.0)
    >>> drawing.svg[:4], drawing.svg.count('class="effect"')
    ('<svg', 2)
    """
    if color not in SHADES:
        raise ValueError(f"visualize: color is one of {', '.join(SHADES)}, not {color!r}")
    found, names = _program_of(program, args)
    printer = Printer()
    printer.names.update(zip(found.inputs[len(found.inputs) - len(names) :], names, strict=True))
    drawing = _Whole(found, Sheet(printer, fold, SHADES[color], total(found.equations))).drawing()
    if path is not None:
        drawing.save(path)
    return drawing


def _program_of(program: Any, args: tuple[Any, ...]) -> tuple[Program, list[str]]:
    """The program to draw, and the names of its last inputs where they are known."""
    found = program if isinstance(program, Program) else getattr(program, "program", None)
    if isinstance(found, Program):
        if args:
            raise TypeError("visualize: a program takes no arguments; a file is given as path=...")
        return found, []
    if not callable(program):
        raise TypeError(
            f"visualize: expected a program or a function, got {type(program).__name__}; "
            "visualize(f, *args) draws the program of a function"
        )
    names = leaf_names(Parameters.of(program), tree_flatten((args, {}))[1])
    return make_program(program)(*args), names


class _Whole:
    """The picture of the outermost program, with its frame and legend."""

    def __init__(self, program: Program, sheet: Sheet) -> None:
        self.families = sheet.families if sheet.shade is None else {}
        self.picture = Picture(program, sheet)

    def drawing(self) -> Drawing:
        picture = self.picture
        legend, legend_width, legend_height = self.legend(max(picture.width, 320.0))
        width = max(picture.width, legend_width) + 2 * _MARGIN
        height = picture.height + legend_height + 2 * _MARGIN
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
            f'width="{width:.0f}" height="{height:.0f}">',
            f"<style>{_STYLE}</style>",
            '<marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" '
            'markerHeight="7" orient="90"><polygon class="arrow" points="0 0 8 4 0 8"/></marker>',
            f'<rect class="page" width="{width:.0f}" height="{height:.0f}" fill="white"/>',
            *picture.write(_MARGIN, _MARGIN),
            *(legend(_MARGIN, _MARGIN + picture.height) if self.families else ()),
            "</svg>",
        ]
        return Drawing("\n".join(lines) + "\n", width, height)

    def legend(self, width: float) -> tuple[Any, float, float]:
        places, x, y, widest = [], 0.0, 20.0, 0.0
        for family in self.families:
            wide = 18 + len(family) * SMALL + 14
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
                lines.append(text_at(left + x + 15, top + y + 9, family, "small"))
            return lines

        return write, widest, y + 12 if places else 0.0
