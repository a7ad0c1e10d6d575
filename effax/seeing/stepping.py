"""`stepper`: a page on which a program goes through a stack of handlers, step by step."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

import attrs

from effax.api.calling.arguments import flat_function, name_of
from effax.effects.printing import Printer
from effax.effects.program import Equation, Program
from effax.effects.tree import tree_flatten, tree_unflatten
from effax.effects.types import typeof
from effax.interpreters.stage import stage
from effax.seeing.explain import EffectLog, Performed, explain, not_explained
from effax.seeing.page import PAGE
from effax.seeing.values import shown

_MARK = "\0"


@attrs.frozen(eq=False)
class Steps:
    """A page of so many `steps`: `html` is its text; notebooks show it, `save` writes it."""

    html: str
    steps: int

    def _repr_html_(self) -> str:
        inside = escape(self.html, quote=True)
        return f'<iframe srcdoc="{inside}" width="100%" height="640" frameborder="0"></iframe>'

    def save(self, path: Any) -> Path:
        """Write the page to a file; gives its path."""
        where = Path(path)
        where.write_text(self.html, encoding="utf-8")
        return where

    def __repr__(self) -> str:
        return f"<a page of {self.steps} steps>"


def stepper(
    fun: Callable[..., Any],
    *args: Any,
    through: Sequence[Callable[..., Any]] = (),
    path: Any = None,
    limit: int = 2000,
    **keywords: Any,
) -> Steps:
    """Return a page that shows a program going through handlers, effect by effect.

    On the left is the program of `fun` with the equation that runs; in the middle the handlers
    that are installed, the innermost on top, and which of them took the effect; on the right what
    it performed outside to answer, down to what is computed, and the values. The arrow keys go
    forth and back. The page is one file and asks nothing of a network.

    Args:
      fun: a function of arrays; it is staged, and its program runs under the handlers.
      *args: its arguments, as the transformed function takes them.
      through: transforms, outermost first: `(effax.vmap, effax.grad)` is `vmap(grad(fun))`.
        Interpreters are among them (`Interval.transform`), and any function of functions.
      path: a file to write the page to.
      limit: how many effects are shown; the page says how many were left out.
      **keywords: keyword arguments.

    Returns:
      The page, `Steps`.

    Raises:
      Whatever the transformed function raises.

    >>> import effax
    >>> effax.stepper(lambda x: effax.numpy.sin(x) * x, 2.0, through=[effax.grad])
    <a page of 15 steps>
    """
    runs = _Runs(fun)

    @functools.wraps(fun)
    def transformed(*args: Any, **keywords: Any) -> Any:
        return runs.run(*args, **keywords)

    for transform in reversed(through):
        transformed = transform(transformed)
    with explain(limit=limit, quiet=True) as log:
        result = transformed(*args, **keywords)
        outcome = ", ".join(map(shown, tree_flatten(result)[0]))
        data = runs.data(log)
    names = [*map(name_of, through), name_of(fun)]
    title = "(".join(names) + ")" * (len(names) - 1)
    data |= {"title": title, "result": outcome, "left_out": log.left_out}
    text = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    html = PAGE.replace("@title@", escape(title)).replace("@data@", text)
    page = Steps(html, len(data["steps"]))
    if path is not None:
        page.save(path)
    return page


class _Runs:
    """A function as the programs that it is for the types it is called with."""

    def __init__(self, fun: Callable[..., Any]) -> None:
        self.fun = fun
        self.programs: list[Program] = []
        self.inputs: list[list[str]] = []
        self.known: dict[Any, tuple[Program, Any, Any]] = {}
        self.names: dict[int, list[str]] = {}

    def run(self, *args: Any, **keywords: Any) -> Any:
        leaves, tree = tree_flatten((args, keywords))
        with not_explained():
            types = tuple(map(typeof, leaves))
            found = self.known.get((tree, types))
            if found is None:
                flat, out = flat_function(self.fun, tree)
                staged = stage(flat, types, name_of(self.fun))
                found = staged.program, staged.captured, out[0]
                self.known[tree, types] = found
                self.programs.append(staged.program)
                self.inputs.append([shown(x) for x in (*staged.captured, *leaves)])
        program, captured, out_tree = found
        return tree_unflatten(out_tree, program.run(*captured, *leaves))

    def data(self, log: EffectLog) -> dict[str, Any]:
        """Return the page's data: the lines of the programs, and the steps."""
        places: dict[int, tuple[int, int]] = {}
        programs = []
        for n, (program, inputs) in enumerate(zip(self.programs, self.inputs, strict=True)):
            printer = _MarkingPrinter()
            lines = [list(_unmarked(line)) for line in printer.program(program, "").split("\n")]
            places |= {id(e): (n, k) for k, e in enumerate(printer.equations)}
            named = zip(map(printer.atom, program.inputs), inputs, strict=True)
            programs.append({"lines": lines, "inputs": [list(pair) for pair in named]})
            for e in program.equations:
                self.names[id(e)] = [printer.atom(x) for x in e.outputs]
        steps = [step for root in log.roots for step in self._steps(root, root, None, places, log)]
        return {"programs": programs, "steps": steps}

    def _steps(
        self, event: Performed, root: Performed, around: Any, places: dict[int, Any], log: EffectLog
    ) -> Iterator[dict[str, Any]]:
        own = _place(event.at, places, log) or around
        installed = list(event.stack)
        outside = list(root.stack)
        if outside[len(outside) - len(installed) :] == installed:
            installed = outside
        names = self.names.get(id(event.at), []) if event is root else []
        yield {
            "place": own,
            "depth": event.depth,
            "root": root.number,
            "effect": event.effect.name,
            "attributes": event.attributes,
            "operands": list(event.operands),
            "results": list(event.results),
            "handler": event.handler,
            "how": event.how,
            "stack": installed,
            "taken": len(installed) - len(event.stack) + len(event.passed),
            "line": event.place,
            "binds": [list(pair) for pair in zip(names, event.results, strict=False)],
        }
        for child in event.children:
            yield from self._steps(child, root, own, places, log)


def _place(at: Any, places: dict[int, Any], log: EffectLog) -> Any:
    """Return the program and equation of a step, also where a recorded tape is walked backwards."""
    while isinstance(at, Equation):
        found = places.get(id(at))
        if found is not None:
            return found
        at = log.origins.get(at.outputs[0]) if at.outputs else None
    return None


class _MarkingPrinter(Printer):
    """Prints programs with a number before each equation."""

    def __init__(self) -> None:
        super().__init__()
        self.equations: list[Equation] = []

    def equation(self, e: Equation, indent: str) -> str:
        number = len(self.equations)
        self.equations.append(e)
        return f"{indent}{_MARK}{number}{_MARK}{super().equation(e, indent)[len(indent) :]}"


def _unmarked(line: str) -> tuple[str, int]:
    """A line, and the number of the equation that begins on it; -1 for none."""
    before, mark, rest = line.partition(_MARK)
    number, _, after = rest.partition(_MARK)
    return (before + after, int(number)) if mark else (line, -1)
