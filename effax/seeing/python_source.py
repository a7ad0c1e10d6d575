"""Programs as Python that runs: each equation a line, each program inside a local function."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import attrs
import numpy as np

from effax.effects.errors import (
    MissingRuleError,
    UnexpectedTracerError,
    UnsupportedDerivativeError,
)
from effax.effects.program import Equation, Literal, Program, Variable
from effax.effects.rows import custom
from effax.effects.types import ShapedArray, float0, typeof
from effax.interpreters.custom_linear import forward
from effax.interpreters.jvp.dual import moves, tangent_type, zeros
from effax.interpreters.stage import stage
from effax.seeing.python_text import (
    PythonText,
    dtype_text,
    families,
    is_name,
    quoted,
    scalar_text,
    variable_name,
)

_REFUSALS: Final = (MissingRuleError, UnexpectedTracerError, UnsupportedDerivativeError, ValueError)


_USED: Final = frozenset(
    ("np", "constants", "objects", "Path", "program", "find_effect", "ShapedArray")
    + ("custom_jvp", "custom_vjp", "complex", "float")
)


@attrs.frozen(eq=False)
class PythonSource:
    """A program as Python text, and the objects that the text refers to.

    `constants` are arrays, `objects` what is neither a number nor to be imported (functions that
    the host calls); the text names both. `function()` runs the text, `save(path)` writes it.
    """

    text: str
    name: str
    constants: dict[str, np.ndarray[Any, Any]]
    objects: dict[str, Any]

    def function(self) -> Any:
        """The function that the text defines, of the program's inputs, giving a list."""
        namespace: dict[str, Any] = {"constants": self.constants, "objects": self.objects}
        exec(compile(self.text, f"<{self.name} as Python>", "exec"), namespace)
        return namespace[self.name]

    def save(self, path: Any) -> Path:
        """Write the text to a file, and the constants to an .npz file beside it; gives the path.

        Raises `ValueError` where the program needs objects that no module has: a file can't.
        """
        where = Path(path)
        if self.objects:
            raise ValueError(
                f"python_source of {self.name} refers to {', '.join(self.objects)}, which no "
                "module defines by name, so a file can't hold them; define them at the top of a "
                "module, or use function() in this process"
            )
        text = self.text
        if self.constants:
            np.savez(where.with_suffix(".npz"), **self.constants)  # type: ignore[arg-type]
            text = text.replace("\n\n\ndef ", f"\n\n{_LOAD}\n\ndef ", 1)
            text = text.replace("import numpy as np\n", _WITH_PATH, 1)
        where.write_text(text, encoding="utf-8")
        return where

    def __str__(self) -> str:
        return self.text


_LOAD: Final = """\
with np.load(Path(__file__).with_suffix(".npz")) as _file:
    constants = dict(_file)
"""
_WITH_PATH: Final = "from pathlib import Path\n\nimport numpy as np\n"


def python_source(program: Any) -> PythonSource:
    """Return a program as Python that runs: the same effects in the same order.

    Programs inside it become local functions, and functions with derivatives of their own keep
    them: the rules are staged and written too. What the program closes over is written out, or
    kept in `constants` if it is large.

    Args:
      program: as `make_program(f)(*args)` gives it; or `jit(f).trace(*args)`, with what it
        captured.

    Returns:
      A `PythonSource`; its text is `str(source)`.

    Raises:
      TypeError: for what is no program.

    >>> import effax, effax.numpy as jnp
    >>> from effax import extend
    >>> source = extend.python_source(effax.make_program(lambda x: jnp.sin(x) * 2)(1.0))
    >>> print(source)
    import numpy as np
    from effax.effects.rows import elementwise, transcendental
    <BLANKLINE>
    <BLANKLINE>
    def f(a):  # f32[]~weak
        b = transcendental.sin(a)
        c = elementwise.mul(b, 2)
        return [c]
    <BLANKLINE>
    >>> source.function()(1.0)
    [Array(1.6829419, dtype=float32, weak_type=True)]
    """
    found, captured = program, ()
    if not isinstance(program, Program):
        found, captured = getattr(program, "program", None), getattr(program, "captured", ())
    if not isinstance(found, Program):
        raise TypeError(
            f"python_source: expected a program, got {type(program).__name__}; "
            "effax.make_program(f)(*args) returns the program of a function"
        )
    writer = _Source()
    name = found.name if is_name(found.name) else "f"
    name = f"{name}_" if _is_taken(name) else name
    body = writer.function(name, found, "", captured)
    text = "\n".join([*writer.header(), "", "", *body]) + "\n"
    return PythonSource(text, name, writer.constants, writer.objects)


def _is_taken(name: str) -> bool:
    """Whether a function of that name would hide what the text uses."""
    return name in _USED or name in families() or name.startswith(("body", "__"))


class _Source(PythonText):
    """Writes programs as functions, each once where it can be seen."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.known: list[dict[Any, str]] = []
        self.writing: dict[Any, str] = {}

    def fresh(self) -> str:
        self.count += 1
        return f"body{self.count}"

    def function(
        self, name: str, program: Program, indent: str, captured: Sequence[Any] = ()
    ) -> list[str]:
        """The lines of a function of the program's inputs; `captured` are the first of them."""
        body = _Body(self, indent + "    ")
        names = body.bind(program.inputs)
        n = len(captured)
        types = _on_a_line(", ".join(map(repr, program.in_types[n:])))
        head = f"{indent}def {name}({', '.join(names[n:])}):" + (f"  # {types}" if types else "")
        for variable, value, t in zip(names, captured, program.in_types, strict=False):
            array = np.asarray(value)
            array = array if t.dtype == float0 else array.astype(t.dtype)
            body.lines.append(f"{body.indent}{variable} = {self.array(array)}")
        results = body.results(program)
        return [head, *body.lines, f"{body.indent}return [{', '.join(results)}]"]

    def nested(self, value: Any, lines: list[str], indent: str) -> str | None:
        """A program is a function written before, staged for its types."""
        if not isinstance(value, Program):
            return None
        self.imports.add("from effax.extend import program")
        name = self.local(value, lines, indent)
        types = "".join(f", {quoted(repr(t))}" for t in value.in_types)
        return f"program({name}{types}, name={quoted(value.name)})"

    def local(self, program: Program, lines: list[str], indent: str) -> str:
        """The name of the function that a program is written as, here or further out."""
        for known in self.known:
            if program in known:
                return known[program]
        name = self.fresh()
        self.known.append({})
        lines += self.function(name, program, indent)
        self.known.pop()
        self.known[-1][program] = name
        return name


class _Body:
    """The lines of one function, and the names of its variables."""

    def __init__(self, source: _Source, indent: str) -> None:
        self.source = source
        self.indent = indent
        self.lines: list[str] = []
        self.names: dict[Variable, str] = {}
        if not source.known:
            source.known.append({})

    def bind(self, variables: Sequence[Variable]) -> list[str]:
        """Name some variables."""
        for x in variables:
            self.names[x] = variable_name(len(self.names))
        return [self.names[x] for x in variables]

    def results(self, program: Program) -> list[str]:
        """Write the equations of a program whose inputs are bound; the texts of its results."""
        for e in program.equations:
            self.equation(e)
        return [self.result(x) for x in program.outputs]

    def result(self, x: Any) -> str:
        """A result: a name, or a literal as a value of its type."""
        if type(x) is Variable:
            return self.names[x]
        if x.type.shape:
            self.source.modules.add("shape")
            value, dtype = self.literal(x), dtype_text(x.type.dtype)
            return f"shape.full({x.type.shape}, {value}, {dtype})"
        if typeof(x.value) is x.type:
            return self.literal(x)
        return f"{dtype_text(x.type.dtype)}.type({self.literal(x)})"

    def literal(self, x: Literal) -> str:
        """A literal as the operand that it was."""
        value = x.value
        return self.source.array(value) if isinstance(value, np.generic) else scalar_text(value)

    def operand(self, x: Any) -> str:
        """An operand of an equation."""
        return self.names[x] if type(x) is Variable else self.literal(x)

    def equation(self, e: Equation) -> None:
        """Write one equation."""
        operands = [self.operand(x) for x in e.inputs]
        special = _SPECIAL.get(e.effect)
        call = special(self, e, operands) if special is not None else None
        if call is None:
            attributes = [
                _given(name, self.source.attribute(value, self.lines, self.indent))
                for name, value in e.attributes.items()
            ]
            inside = ", ".join([*operands, *attributes])
            call = f"{self.source.spelling(e.effect)}({inside})"
        made = self.bind(e.outputs)
        left = ", ".join(made) + ("," if e.effect.multiple and len(made) == 1 else "")
        self.lines.append(f"{self.indent}{left} = {call}" if made else f"{self.indent}{call}")

    def call(self, program: Program, operands: Sequence[str], name: str) -> str:
        """A call of a program, as text."""
        self.source.modules.add("control")
        inside = self.source.attribute(program, self.lines, self.indent)
        before = "".join(f"{x}, " for x in operands)
        return f"control.call({before}program={inside}, name={quoted(name)})"

    def note(self, text: str) -> None:
        """Write a comment."""
        self.lines.append(f"{self.indent}# {_on_a_line(text)}")

    def rule(
        self, name: str, arguments: str, pattern: str, program: Program, results: Sequence[Any]
    ) -> None:
        """Write a staged rule: a function whose arguments are taken apart by a pattern.

        The pattern has a place for each input of the program; `results` are positions among the
        program's results, in the tuples and lists that are returned.
        """
        body = _Body(self.source, self.indent + "    ")
        names = body.bind(program.inputs)
        self.lines.append(f"{self.indent}def {name}({arguments}):")
        if pattern:
            body.lines.append(f"{body.indent}{pattern.format(*names)}")
        self.source.known.append({})
        texts = body.results(program)
        self.source.known.pop()
        self.lines += [*body.lines, f"{body.indent}return {_arranged(results, texts)}"]


def _on_a_line(text: str) -> str:
    """A text that can be a comment: it has no end of a line in it."""
    return " ".join(text.split())


def _given(name: str, value: str) -> str:
    """An argument by name; of a name that Python can't spell, in a dict."""
    return f"{name}={value}" if is_name(name) else f"**{{{quoted(name)}: {value}}}"


def _arranged(places: Any, texts: Sequence[str]) -> str:
    if isinstance(places, tuple):
        return _tuple([_arranged(x, texts) for x in places])
    if isinstance(places, list):
        return f"[{', '.join(_arranged(x, texts) for x in places)}]"
    return "None" if places is None else texts[places]


def _tuple(texts: Sequence[str]) -> str:
    return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"


def _write_linear(body: _Body, e: Equation, operands: Sequence[str]) -> str | None:
    """A linear map given by its transpose: the program that computes it."""
    types = [x.type for x in e.inputs]
    given = {k: e.attributes[k] for k in ("residuals", "out_types", "backward")}
    found = forward(**given, types=types)
    held = [body.source.array(x) for x in found.captured]
    return body.call(found.program, [*held, *operands], "linear")


def _write_jvp(body: _Body, e: Equation, operands: Sequence[str]) -> str | None:
    """A function with a forward rule of its own, and the rule."""
    program, rule = e.attributes["program"], e.attributes["rule"]
    key = _identity(e)
    if key in body.source.writing:
        return f"{body.source.writing[key]}({', '.join(operands)})"
    ins, outs = program.in_types, program.out_types
    fixed = getattr(rule, "captured", 0)
    moving = [i >= fixed and moves(t) for i, t in enumerate(ins)]
    n = len(ins)

    def flat(*values: Any) -> list[Any]:
        rest = iter(values[n:])
        results, tangents = rule(values[:n], [next(rest) if m else None for m in moving])
        return [*results, *(t for t in _filled(tangents, outs) if t is not None)]

    types = [*ins, *(tangent_type(t) for t, m in zip(ins, moving, strict=True) if m)]
    staged = _staged_rule(body, e, flat, types)
    if staged is None:
        return body.call(program, operands, e.attributes.get("name") or program.name)
    name = body.source.local(program, body.lines, body.indent)
    own, indent = f"{name}_with_rule", body.indent
    body.source.imports.add("from effax import custom_jvp")
    body.lines.append(f"{indent}{own} = custom_jvp({name})")
    body.source.writing[key] = own
    places = _tuple(["{}"] * n), _tuple(["{}" if m else "_" for m in moving])
    pattern = f"{places[0]}, {places[1]} = primals, tangents"
    moved = iter(range(len(outs), 2 * len(outs)))
    tangents = [next(moved) if moves(t) else i for i, t in enumerate(outs)]
    body.rule(
        f"{own}_jvp",
        "primals, tangents",
        pattern,
        staged,
        (list(range(len(outs))), tangents),
    )
    del body.source.writing[key]
    body.lines.append(f"{indent}{own}.defjvp({own}_jvp)")
    return f"{own}({', '.join(operands)})"


def _write_vjp(body: _Body, e: Equation, operands: Sequence[str]) -> str | None:
    """A function with a reverse rule of its own, and the rule's two halves."""
    program, rule = e.attributes["program"], e.attributes["rule"]
    key = _identity(e)
    if key in body.source.writing:
        return f"{body.source.writing[key]}({', '.join(operands)})"
    ins, outs = program.in_types, program.out_types
    fixed = getattr(rule, "captured", 0)
    wanted = tuple(i >= fixed and moves(t) for i, t in enumerate(ins))
    moving = tuple(i for i, t in enumerate(outs) if moves(t))
    fwd = _staged_rule(
        body, e, lambda *values: [x for part in rule.forward(values, wanted) for x in part], ins
    )
    if fwd is None:
        return body.call(program, operands, e.attributes.get("name") or program.name)
    residuals = fwd.out_types[len(outs) :]

    def flat(*values: Any) -> list[Any]:
        n = len(residuals)
        given = rule.backward_of(moving, wanted)(values[:n], values[n:])
        return [
            zeros(tangent_type(t)) if ct is None else ct for ct, t in zip(given, asked, strict=True)
        ]

    asked = [t for t, w in zip(ins, wanted, strict=True) if w]
    cotangents = [tangent_type(outs[i]) for i in moving]
    bwd = _staged_rule(body, e, flat, [*residuals, *cotangents])
    if bwd is None:
        return body.call(program, operands, e.attributes.get("name") or program.name)
    name = body.source.local(program, body.lines, body.indent)
    own, indent = f"{name}_with_rule", body.indent
    body.source.imports.add("from effax import custom_vjp")
    body.lines.append(f"{indent}{own} = custom_vjp({name})")
    body.source.writing[key] = own
    k = len(outs)
    body.rule(
        f"{own}_fwd",
        ", ".join(variable_name(i) for i in range(len(ins))),
        "",
        fwd,
        (list(range(k)), list(range(k, k + len(residuals)))),
    )
    places = _tuple(["{}"] * len(residuals)), _tuple(["{}" if moves(t) else "_" for t in outs])
    found = iter(range(len(asked)))
    body.rule(
        f"{own}_bwd",
        "residuals, cotangents",
        f"{places[0]}, {places[1]} = residuals, cotangents",
        bwd,
        tuple(next(found) if w else None for w in wanted),
    )
    del body.source.writing[key]
    body.lines.append(f"{indent}{own}.defvjp({own}_fwd, {own}_bwd)")
    return f"{own}({', '.join(operands)})"


def _identity(e: Equation) -> Any:
    """Return the identity of a called function: a rule may call the function it is a rule of."""
    rule = e.attributes["rule"]
    while hasattr(rule, "rule"):
        rule = rule.rule
    own = getattr(rule, "function", None) or getattr(rule, "fwd", None) or rule
    program = e.attributes["program"]
    return e.effect, own, program.in_types, program.out_types


def _write_vmap(body: _Body, e: Equation, operands: Sequence[str]) -> str | None:
    """A function with a batching rule of its own, which depends on the batch: it is left out."""
    program = e.attributes["program"]
    body.note("the batching rule of this call is a Python function, and is not written")
    return body.call(program, operands, e.attributes.get("name") or program.name)


def _filled(tangents: Sequence[Any], types: Sequence[ShapedArray]) -> list[Any]:
    """Tangents of results; zeros written out, None for what can't move."""
    return [
        None if not moves(t) else zeros(tangent_type(t)) if x is None else x
        for x, t in zip(tangents, types, strict=True)
    ]


def _staged_rule(body: _Body, e: Equation, flat: Any, types: Sequence[Any]) -> Program | None:
    """A rule as a program; None, with a comment that says why, where it can't be one."""
    try:
        staged = stage(flat, types, "rule")
        if staged.captured:
            raise ValueError("it uses values from outside")
    except _REFUSALS as error:
        body.note(f"the derivative of this call's own is not written: {error}")
        return None
    return staged.program


_SPECIAL: Final = {
    custom.custom_linear: _write_linear,
    custom.custom_jvp_call: _write_jvp,
    custom.custom_vjp_call: _write_vjp,
    custom.custom_vmap_call: _write_vmap,
}
