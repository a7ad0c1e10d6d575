"""Printed programs read back: `str(parse(text)) == text`."""

from __future__ import annotations

import enum
import re
import sys
from collections.abc import Callable
from typing import Any, Final, NoReturn

import attrs
import numpy as np

from effax.effects.checking import result_types
from effax.effects.effect import Effect, find_effect
from effax.effects.errors import JaxprTypeError
from effax.effects.program import Equation, Literal, Program, Variable
from effax.effects.types import ShapedArray, typeof
from effax.seeing.python_text import families, read_type

_FUNCTIONS: Final = frozenset({"rule", "callback", "backward", "policy", "site"})
_WORD: Final = re.compile(r"[\w.<>+-]+")
_TYPE: Final = re.compile(r"(Ref\{)?\w+\[[\d,]*\](~weak)?(?(1)\})")
_NAME: Final = re.compile(r"[a-z]+")
_CONSTANTS: Final = {"None": None, "True": True, "False": False}


def parse(text: str) -> Program:
    """Return the program that a text describes: the inverse of `str(program)`.

    Types of results are inferred and compared with those written. What is after `#` on a line is
    left out, so `pretty_print(source_info=True)` may be read too. Text does not say which types
    are weak: inputs are read as strong.

    Raises:
      ValueError: for a text that is no program, with the line; for attributes that are Python
        functions (rules of custom derivatives, callbacks), of which only names are printed.

    >>> program = parse('''{ lambda a:f32[3] .
    ...   b:f32[3] = sin a
    ...   c:f32[] = reduce_sum[axes=(0,)] b
    ...   in (c) }''')
    >>> program.run(np.zeros(3, np.float32))
    [Array(0., dtype=float32)]
    >>> print(program)
    { lambda a:f32[3] .
      b:f32[3] = sin a
      c:f32[] = reduce_sum[axes=(0,)] b
      in (c) }
    """
    if not isinstance(text, str):
        raise TypeError(f"parse: expected the text of a program, got {type(text).__name__}")
    reader = _Reader(re.sub(r" *  # .*", "", text))
    program = reader.program()
    reader.spaces()
    if reader.at < len(reader.text):
        reader.fail("nothing more")
    return program


class _Reader:
    """A place in a text, and what can be read from there."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.known: dict[str, Program] = {}

    def fail(self, expected: str, error: type[ValueError] = ValueError) -> NoReturn:
        """Refuse the text, at this place."""
        before = self.text[: self.at]
        line = before.count("\n") + 1
        found = self.text[self.at : self.at + 24].split("\n")[0]
        raise error(
            f"line {line}, column {self.at - before.rfind(chr(10))} of the text of a program: "
            f"expected {expected}, found {found!r}"
        )

    def spaces(self, newlines: bool = True) -> None:
        """Pass over blanks."""
        blanks = " \n\t\r" if newlines else " \t\r"
        while self.at < len(self.text) and self.text[self.at] in blanks:
            self.at += 1

    def sees(self, text: str) -> bool:
        """Whether that is next; then it is passed."""
        self.spaces()
        found = self.text.startswith(text, self.at)
        if found:
            self.at += len(text)
        return found

    def need(self, text: str) -> None:
        """Pass over a text that must be next."""
        if not self.sees(text):
            self.fail(repr(text))

    def match(self, pattern: re.Pattern[str], what: str) -> str:
        """Return the match of a pattern at this place."""
        self.spaces()
        found = pattern.match(self.text, self.at)
        if found is None:
            self.fail(what)
        self.at = found.end()
        return found.group()

    # ------------------------------------------------------------------------- programs

    def program(self) -> Program:
        """A program in braces; one that is written twice, with the same names, is the same."""
        self.need("{")
        start = self.at
        self.need("lambda")
        names: dict[str, Variable] = {}
        inputs = []
        while not self.sees("."):
            inputs.append(self.binder(names))
        if self.sees("!"):
            end = self.text.find("\n", self.at)
            self.at = end if end >= 0 else len(self.text)
        equations = []
        while not self.text.startswith("in (", self._after_spaces()):
            equations.append(self.equation(names))
        self.need("in")
        self.need("(")
        outputs = []
        while not self.sees(")"):
            outputs.append(self.atom(names))
            self.sees(",")
        self.need("}")
        words = " ".join(self.text[start : self.at].split())
        return self.known.setdefault(words, Program(inputs, equations, outputs))

    def _after_spaces(self) -> int:
        self.spaces()
        return self.at

    def binder(self, names: dict[str, Variable]) -> Variable:
        """A variable with its type, where it is bound."""
        start = self.at
        name = self.match(_NAME, "the name of a variable")
        self.need(":")
        kind = self.type()
        if name in names:
            self.at = start
            self.fail(f"a name not bound before ({name} is)")
        names[name] = Variable(None, kind)
        return names[name]

    def type(self) -> ShapedArray:
        """A type."""
        start = self.at
        text = self.match(_TYPE, "a type, as f32[2,3]")
        try:
            return read_type(text)
        except ValueError:
            self.at = start
            self.fail("a type, as f32[2,3]")

    def atom(self, names: dict[str, Variable]) -> Any:
        """A variable bound before, or a literal with its type."""
        start = self.at
        text = self.match(re.compile(r"[^\s,:()]+|\([^\s,:()]+\)"), "a variable or a literal")
        if not self.text.startswith(":", self.at):
            if text not in names:
                self.at = start
                self.fail(f"a variable bound before ({text} is not)")
            return names[text]
        self.at += 1
        kind = self.type()
        try:
            return Literal(_number(text, kind), kind)
        except ValueError:
            self.at = start
            self.fail("a number")

    def equation(self, names: dict[str, Variable]) -> Equation:
        """One equation; its results are bound after it is read."""
        bound: dict[str, Variable] = {}
        while not self.sees("="):
            if not self.sees("_ "):
                self.binder(bound)
        self.spaces()
        start = self.at
        name = self.match(re.compile(r"\w+"), "the name of an effect")
        try:
            effect = find_effect(name)
        except KeyError:
            self.at = start
            self.fail("the name of an effect")
        attributes = self.attributes() if self.text.startswith("[", self.at) else {}
        operands = []
        self.spaces(newlines=False)
        while self.at < len(self.text) and self.text[self.at] != "\n":
            operands.append(self.atom(names))
            self.spaces(newlines=False)
        operands = [_operand(effect, x) for x in operands]
        end, self.at = self.at, start
        outputs = self.checked(effect, operands, attributes, list(bound.values()))
        self.at = end
        names.update(zip(bound, outputs, strict=True))
        return Equation(effect, operands, attributes, outputs)

    def checked(
        self, effect: Effect, operands: Any, attributes: Any, written: list[Variable]
    ) -> list[Variable]:
        """The results, of the types that are inferred, which must be those written."""
        try:
            results = result_types(effect, operands, attributes)
        except JaxprTypeError as error:
            self.fail(error.args[0], JaxprTypeError)
        shorts = [t.str_short() for t in results]
        if shorts != [x.type.str_short() for x in written]:
            self.fail(
                f"results of types {', '.join(shorts) or 'none'} for {effect}", JaxprTypeError
            )
        return [Variable(None, t) for t in results]

    # ----------------------------------------------------------------------- attributes

    def attributes(self) -> dict[str, Any]:
        """Attributes in brackets."""
        self.need("[")
        found: dict[str, Any] = {}
        while not self.sees("]"):
            name = self.match(re.compile(r"\w+"), "the name of an attribute")
            self.need("=")
            start = self.at
            found[name] = value = self.value(name)
            if name in _FUNCTIONS and value is not None and not isinstance(value, Program):
                self.at = start
                self.fail(f"no attribute '{name}': it is a Python function, which text can't give")
        return found

    def value(self, name: str) -> Any:
        """The value of an attribute of that name, or a part of it."""
        self.spaces()
        first = self.text[self.at : self.at + 1]
        if first == "{":
            return self.program()
        if first == "(":
            return self.tuple(name)
        if first in ("'", '"'):
            return self.string()
        for pattern, read in _FORMS:
            found = pattern.match(self.text, self.at)
            if found is not None:
                return read(self, found, name)
        word = self.match(_WORD, "the value of an attribute")
        return _word(word, name)

    def tuple(self, name: str) -> tuple[Any, ...]:
        """Values in parentheses."""
        self.need("(")
        found = []
        while not self.sees(")"):
            found.append(self.value(name))
            if not self.sees(",") and not self.text.startswith(")", self.at):
                self.fail("',' or ')'")
        return tuple(found)

    def string(self) -> str:
        """A quoted string."""
        import ast

        text = self.match(re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""), "a string")
        return str(ast.literal_eval(text))

    def record(self, found: re.Match[str], name: str) -> Any:
        """A named tuple or an attrs instance, by its fields."""
        kind = _class(found[1])
        if kind is None:
            self.fail("the name of a class of effax.effects")
        self.at = found.end()
        fields: dict[str, Any] = {}
        while not self.sees(")"):
            field = self.match(re.compile(r"\w+"), "the name of a field")
            self.need("=")
            fields[field] = self.value(field)
            self.sees(",")
        try:
            return kind(**fields)
        except TypeError as error:
            self.fail(f"fields of {found[1]} ({error})")

    def member(self, found: re.Match[str], name: str) -> Any:
        """A member of an enumeration."""
        kind = _class(found[1])
        if not (isinstance(kind, type) and issubclass(kind, enum.Enum)):
            self.fail("a member of an enumeration of effax.effects")
        if found[2] not in kind.__members__:
            self.fail(f"a member of {found[1]}")
        self.at = found.end()
        return kind[found[2]]

    def array_type(self, found: re.Match[str], name: str) -> ShapedArray:
        """A type."""
        return self.type()

    def dtype(self, found: re.Match[str], name: str) -> Any:
        """A dtype as NumPy writes it inside tuples."""
        self.at = found.end()
        return _dtype(found[1])


_Form = tuple[re.Pattern[str], Callable[[_Reader, re.Match[str], str], Any]]
_FORMS: Final[tuple[_Form, ...]] = (
    (re.compile(r"dtype\('(\w+)'\)"), _Reader.dtype),
    (re.compile(r"([A-Z]\w*)\("), _Reader.record),
    (re.compile(r"<?([A-Z]\w*)\.([A-Z_]\w*)(?:: \d+>)?"), _Reader.member),
    (re.compile(r"\w+\[[\d,]*\]"), _Reader.array_type),
)


def _class(name: str) -> Any:
    """The class of that name in a module of effects that programs may mention."""
    for family in families():
        found = vars(sys.modules[f"effax.effects.rows.{family}"]).get(name)
        if isinstance(found, type) and (
            hasattr(found, "_fields") or attrs.has(found) or issubclass(found, enum.Enum)
        ):
            return found
    return None


def _word(word: str, name: str) -> Any:
    """A word without quotes: a constant, a number, a dtype where one is meant, else a string."""
    if word in _CONSTANTS:
        return _CONSTANTS[word]
    if "type" in name:
        found = _dtype(word)
        if found is not None:
            return found
    for number in (int, float):
        try:
            return number(word)
        except ValueError:
            continue
    return word


def _dtype(name: str) -> Any:
    try:
        # NumPy evaluates other strings, such as "(2,3)f4" or "032", as Python literals.
        return np.dtype(name) if name.isidentifier() else None
    except TypeError:
        return None


def _number(text: str, kind: ShapedArray) -> Any:
    if text in ("True", "False"):
        return text == "True"
    if kind.dtype.kind == "c" and "j" in text:
        return complex(text)
    try:
        return int(text)
    except ValueError:
        return float(text)


def _operand(effect: Effect, x: Any) -> Any:
    """A literal as the number that it was: Python's, unless its dtype is another."""
    if not isinstance(x, Literal) or effect.literals or typeof(x.value).dtype == x.type.dtype:
        return x
    return Literal(x.type.dtype.type(x.value), x.type)
