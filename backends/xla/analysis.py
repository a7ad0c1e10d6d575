"""Analyses of a program by jaxlib, without running it: texts, costs, layouts."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs

from effax.backends.xla.client import Backend
from effax.backends.xla.compile import costs, parse
from effax.backends.xla.executable import Executable
from effax.backends.xla.placement import Placement, Sharding, default
from effax.effects.runtime import _hlo, _jax


def module(text: str) -> Any:
    """The program as a module of jaxlib's MLIR."""
    return parse(text)


def plain_text(text: str) -> str:
    """The StableHLO without the places its operations come from."""
    return str(parse(text)) if " loc(" in text else text


def computation(text: str) -> Any:
    """The program as an `XlaComputation`: HLO, not optimised."""
    return _jax.mlir.mlir_module_to_xla_computation(text)


def hlo_text(text: str, located: bool = False) -> str:
    """The program as HLO, not optimised; with each operation's scopes and line if `located`."""
    if not located:
        return str(computation(text).as_hlo_text())
    options = _hlo.HloPrintOptions()
    options.print_metadata = True
    options.print_percent = options.print_program_shape = options.print_operand_shape = False
    return str(computation(text).get_hlo_module().to_string(options))


def costs_before(text: str, backend: Backend) -> dict[str, float] | None:
    """The compiler's estimate for the program as it is written; None where it has none."""
    return costs(computation(text).get_hlo_module(), backend)


class _AutoLayout:
    """The layout that the compiler chooses: `Layout.AUTO`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "AUTO"


@attrs.frozen(slots=True)
class Layout:
    """The order of an array's axes in memory, the slowest first, and how it is cut into tiles."""

    major_to_minor: tuple[int, ...]
    tiling: tuple[tuple[int, ...], ...] = ()
    sub_byte_element_size_in_bits: int = 0

    AUTO: ClassVar = _AutoLayout()


@attrs.frozen(slots=True)
class Format:
    """A layout in memory, and the placement on devices.

    Raises `ValueError` for a layout that is given without a placement.
    """

    layout: Layout | _AutoLayout | None = None
    sharding: Sharding | None = None

    def __attrs_post_init__(self) -> None:
        if isinstance(self.layout, Layout) and self.sharding is None:
            raise ValueError(
                f"Format: sharding must be given beside the layout {self.layout!r}, got None"
            )

    def placement(self) -> Placement:
        """The placement. Raises `ValueError` for a layout other than the row-major one."""
        layout = self.layout
        if layout is not None:
            if isinstance(layout, _AutoLayout):
                raise ValueError(f"device_put: a layout must be concrete, got {self!r}")
            if layout.major_to_minor != tuple(range(len(layout.major_to_minor))) or layout.tiling:
                raise ValueError(
                    f"device_put: effax arrays are row-major, got {layout!r}; transpose the "
                    "array, or let the compiler choose inside of a program"
                )
        return default() if self.sharding is None else self.sharding.placement()


def input_formats(executable: Executable) -> list[Format]:
    """Return the layout that each operand must have."""
    layouts = executable.raw.get_parameter_layouts()
    return [Format(_layout(x), executable.placement) for x in layouts]


def output_formats(executable: Executable) -> list[Format]:
    """Return the layout of each result."""
    places = [spec.placement for spec in executable.out_specs]
    layouts = executable.raw.get_output_layouts()
    return [Format(_layout(x), p) for x, p in zip(layouts, places, strict=True)]


def format_of(buffer: Any, sharding: Any) -> Format:
    """Return the layout of the array of a buffer."""
    return Format(_layout(buffer._pjrt_layout), sharding)


def _layout(raw: Any) -> Layout:
    xla = raw._xla_layout()
    return Layout(
        tuple(reversed(xla.minor_to_major())),
        tuple(map(tuple, xla.tiling())),
        int(xla.element_size_in_bits()),
    )
