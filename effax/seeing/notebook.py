"""Views of arrays, programs, stages, meshes, shardings and trees, in Jupyter.

`import effax` in a notebook registers them; in one that imported effax before IPython,
`%load_ext effax` does. Elsewhere nothing changes: these objects print as text.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Any, Final

LARGEST: Final = 300
"""The most equations of a program that is drawn; longer ones are shown as text."""

_CELL: Final = 'style="border: 1px solid #8888; padding: 2px 8px; text-align: center"'


def register(ipython: Any) -> None:
    """Tell an IPython shell how to show effax's objects as HTML, where it shows HTML."""
    html = ipython.display_formatter.formatters["text/html"]
    for (module, name), view in VIEWS.items():
        html.for_type_by_name(module, name, view)


def register_if_shown() -> None:
    """`register` with the shell that runs, where one does; never imports IPython."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is not None:
        register(shell)


def of_array(x: Any) -> str:
    """The type, the place and the values; for arrays that are cut, the pieces of each device."""
    kind = f"<code>{escape(x.aval.str_short())}</code>"
    if x.is_deleted():
        return f"{kind}, deleted"
    devices = sorted(x.devices(), key=lambda device: device.id)
    where = repr(devices[0]) if len(devices) == 1 else f"{len(devices)} devices"
    lines = [f"{kind} on {escape(where)}, {_bytes(x.nbytes)}"]
    if len(devices) > 1:
        lines.append(f"<code>{escape(str(x.sharding))}</code>")
        if 1 <= x.ndim <= 2:
            lines.append(_pieces(x))
    return "<br>".join(lines) + _pre(repr(x))


def _pieces(x: Any) -> str:
    from effax.api.placing.sharding_views import label, pieces

    found = pieces(tuple(x.shape), x.sharding)
    rows, columns = (max(place[i] for place in found) + 1 for i in (0, 1))
    grid = [[label(found[r, c]) for c in range(columns)] for r in range(rows)]
    return _table(grid)


def of_program(program: Any) -> str:
    """A picture, where it is not too large, and the text below it."""
    from effax.seeing.drawing import visualize

    text = repr(program)
    if len(program.equations) > LARGEST or text.count("\n") > LARGEST:
        return _pre(text)
    return visualize(program).svg + _details("Program", text)


def of_traced(stage: Any) -> str:
    """The program of a traced function."""
    return _pre(repr(stage)) + of_program(stage.program)


def of_lowered(stage: Any) -> str:
    """The program of a lowered function, and its StableHLO."""
    return of_traced(stage) + _details("StableHLO", stage.as_text())


def of_compiled(stage: Any) -> str:
    """The costs of a compiled function, its program, and its optimised HLO."""
    costs = stage.cost_analysis() or {}
    kinds = ("flops", "transcendentals", "bytes accessed")
    rows = [(kind, _number(costs[kind])) for kind in kinds if kind in costs]
    memory = stage.memory_analysis()
    if memory is not None:
        for part in ("argument", "output", "temp"):
            rows.append((f"{part}s", _bytes(getattr(memory, f"{part}_size_in_bytes"))))
    texts = {"Program": repr(stage.program), "Optimised HLO": stage.as_text()}
    below = "".join(_details(title, text) for title, text in texts.items())
    return _pre(repr(stage)) + _table(rows) + below


def of_mesh(mesh: Any) -> str:
    """The devices of a mesh, the last axis across and the others down."""
    title = ", ".join(f"{name}: {size}" for name, size in mesh.shape.items())
    rows = mesh.devices.reshape(-1, mesh.devices.shape[-1] if mesh.devices.ndim else 1)
    return f"<code>{escape(title)}</code>" + _table([[repr(d) for d in row] for row in rows])


def of_named_sharding(sharding: Any) -> str:
    """The spec of a sharding, and its mesh."""
    return f"<code>{escape(str(sharding.spec))}</code> over " + of_mesh(sharding.mesh)


def of_tree(treedef: Any) -> str:
    """The structure of a tree: its nodes by their kinds, with the keys of dicts."""
    return f"<ul><li>{_node(treedef)}</li></ul>"


def _node(treedef: Any) -> str:
    data, children = treedef.node_data(), treedef.children()
    if data is None:
        return "*"
    kind, aux = data
    names = aux if kind is dict else range(len(children))
    pairs = zip(names, children, strict=True)
    lines = [f"<li><code>{escape(repr(name))}</code>: {_node(x)}</li>" for name, x in pairs]
    return f"<code>{escape(kind.__name__)}</code><ul>{''.join(lines)}</ul>"


VIEWS: Final[dict[tuple[str, str], Callable[[Any], str]]] = {
    ("effax.backends.xla.array", "Array"): of_array,
    ("effax.effects.program", "Program"): of_program,
    ("effax.api.compiling.stages", "Traced"): of_traced,
    ("effax.api.compiling.stages", "Lowered"): of_lowered,
    ("effax.api.compiling.stages", "Compiled"): of_compiled,
    ("effax.backends.xla.mesh", "Mesh"): of_mesh,
    ("effax.backends.xla.mesh", "NamedSharding"): of_named_sharding,
    ("jaxlib._jax.pytree", "PyTreeDef"): of_tree,
}
"""The view of the objects of a class, by the module and the name of the class."""


def _pre(text: str) -> str:
    return f"<pre>{escape(text)}</pre>"


def _details(title: str, text: str) -> str:
    return f"<details><summary>{title}</summary>{_pre(text)}</details>"


def _table(rows: Iterable[Sequence[str]]) -> str:
    lines = ["".join(f"<td {_CELL}>{escape(cell)}</td>" for cell in row) for row in rows]
    return "<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"


def _number(x: float) -> str:
    return f"{int(x):,}" if float(x).is_integer() else f"{x:,.1f}"


def _bytes(count: int) -> str:
    power = min(len(str(count)) - 1, 9) // 3
    return f"{count / 1000**power:.3g} {('B', 'kB', 'MB', 'GB')[power]}"
