"""Forms of calls: what stands at each argument, and the function that is written for such calls.

A compiled call is found by a key: the settings, and what the trace depends on of each argument. To
collect it in a loop that asks of every argument what it is costs as much as JAX's whole call. So a
function is written for each form of call, once in a process: for `f(array, static, name=array)`

    def call(__a0=MISSING, __a1=MISSING, /, *__rest, name=MISSING, **__others):
        if <nothing is installed> and not __rest and not __others:
            try:
                key = trace_key(), __a0.spec, type(__a1), __a1, name.spec
                run, handlers, spec, compiled = entries[key]
                buffers = [__a0.buffer, name.buffer]
            except (AttributeError, KeyError, TypeError):
                pass
            else:
                <return the results of run(buffers)>
        return missed(form, (__a0, __a1, *__rest), {"name": name, **__others})

An argument that is not what the form says lacks the attribute, or is found under no key.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from operator import itemgetter
from textwrap import indent
from typing import Any, Final, NamedTuple

import numpy as np

from effax.backends.xla.array import Array, buffer_of, hosts, spec_of
from effax.backends.xla.executable import XlaRuntimeError
from effax.effects import config
from effax.effects.config import trace_key
from effax.effects.frames import boundary, settle, strip
from effax.effects.handler import bottom, current
from effax.effects.tree import registry

ARRAY: Final = "array"
STATIC: Final = "static"
DICT: Final = "dict of arrays"
TREE: Final = "tree of arrays"
HOST: Final = "array of NumPy's"
"""One of a type met before, which is put on the device as it is."""
ENTERED: Final = "number"
"""What has to be brought to the device, of whatever kind; an array already there may be."""
MIXED: Final = "tree"

_MANY: Final = 64
_LIMIT: Final = 1024


class _Missing:
    """What stands for an argument that a form has and a call has not."""

    __slots__ = ()


MISSING: Final = _Missing()


class _Piece(NamedTuple):
    """What is written for an argument `{a}`, the `{i}`-th: statements, parts of key and buffers."""

    before: str
    key: str
    buffers: str


_PIECES: Final = {
    ARRAY: _Piece("", "{a}.spec", "{a}.buffer"),
    STATIC: _Piece("", "__type({a}), {a}", ""),
    HOST: _Piece(
        "if __type({a}) is not __ndarray or __config.guarded: raise __TypeError\n"
        "__s{i}, __p{i} = __hosts[__trace_key(), {a}.dtype, {a}.shape]",
        "__s{i}",
        "__p{i}({a})",
    ),
    ENTERED: _Piece("__s{i}, __b{i} = __enter({a})", "__s{i}", "__b{i}"),
    # The key has the getter: one object for the same keys, in whatever order the dict has them.
    DICT: _Piece(
        "if __type({a}) is not __dict: raise __TypeError\n"
        "__g{i} = __getters[(*{a},)]; __l{i} = __g{i}({a})",
        "__g{i}, *__map(__spec_of, __l{i})",
        "*__map(__buffer_of, __l{i})",
    ),
    TREE: _Piece(
        "__l{i}, __t{i} = __flatten({a})",
        "__t{i}, *__map(__spec_of, __l{i})",
        "*__map(__buffer_of, __l{i})",
    ),
    MIXED: _Piece(
        "__l{i}, __t{i} = __flatten({a}); __l{i} = [*__map(__enter, __l{i})]",
        "__t{i}, *[s for s, _ in __l{i}]",
        "*[b for _, b in __l{i}]",
    ),
}

_CALL: Final = """
def bind(__form, __entries, __work, __missed, __enter):
    def call({parameters}):
        try:
            if __installed() is __bottom{alone}:
                try:
{before}
                    __run, __handlers, __spec, __compiled = __entries[{key}]
                    __buffers = [{buffers}]
                except (__AttributeError, __KeyError, __TypeError):
                    pass
                else:
                    __work.hits += 1
                    if __spec is None and not __compiled.plain:
                        return __compiled(__buffers)
                    try:
                        __outs = __run(__buffers).consume_with_handlers(__handlers)
                    except __XlaRuntimeError as __error:
                        __compiled.explain(__error, __buffers)
                        raise
                    if __spec is None:
                        return __compiled.build(__map(__Array, __outs, __compiled.specs))
                    return __Array(__outs[0], __spec)
            __result = __missed(__form, {args}, {keywords})
            __settle()
            return __result
        except __Exception as __error:
            __strip(__error)
            raise
    return call

def find(__enter, {parameters}):
{before_finding}
    return {key}, [{buffers}]
"""

getters: Final[dict[tuple[Any, ...], Callable[[Any], tuple[Any, ...]]]] = {}
"""What gives the values of a dict in the order of its sorted keys, by the keys in any order."""
_by_sorted: Final[dict[tuple[Any, ...], Callable[[Any], tuple[Any, ...]]]] = {}
_SPACE: Final[dict[str, Any]] = {
    "__Array": Array,
    "__AttributeError": AttributeError,
    "__Exception": Exception,
    "__KeyError": KeyError,
    "__MISSING": MISSING,
    "__TypeError": TypeError,
    "__XlaRuntimeError": XlaRuntimeError,
    "__bottom": bottom,
    "__buffer_of": buffer_of,
    "__config": config,
    "__dict": dict,
    "__flatten": registry.flatten,
    "__getters": getters,
    "__hosts": hosts,
    "__installed": current.get,
    "__map": map,
    "__ndarray": np.ndarray,
    "__settle": settle,
    "__spec_of": spec_of,
    "__strip": strip,
    "__trace_key": trace_key,
    "__type": type,
}
"""What the functions use, under names that no argument has: `calls` refuses those."""


class Form:
    """What stands at each argument of a call; equal forms are one object."""

    __slots__ = ("_bind", "_find", "kinds", "names")

    def __init__(self, kinds: tuple[str, ...], names: tuple[str, ...]) -> None:
        self.kinds = kinds
        self.names = names
        space = dict(_SPACE)
        # A file of the library's, so that its frames are left out of tracebacks.
        file = os.path.join(os.path.dirname(__file__), f"<a call of {len(kinds)} arguments>")
        exec(compile(_text(kinds, names), file, "exec"), space)
        self._bind: Callable[..., Callable[..., Any]] = space["bind"]
        self._find: Callable[..., tuple[Any, list[Any]]] = space["find"]

    def bind(self, entries: Any, work: Any, missed: Any, enter: Any) -> Callable[..., Any]:
        """The function for calls of this form, which looks in `entries` for what was compiled.

        What it finds there is counted in `work`; other calls it passes on, as
        `missed(form, args, keywords)`, with `MISSING` among them. `enter` gives spec and buffer of
        what is no array on a device.
        """
        return boundary(self._bind(self, entries, work, missed, enter))

    def find(
        self, args: tuple[Any, ...], keywords: dict[str, Any], enter: Any
    ) -> tuple[Any, list[Any]]:
        """The key and the operands' buffers of a call.

        Raises `AttributeError`, `KeyError` or `TypeError` for a call that has not this form.
        """
        return self._find(enter, *args, **keywords)


def _text(kinds: tuple[str, ...], names: tuple[str, ...]) -> str:
    """The functions for calls where these kinds of arguments stand, the last of them by name."""
    count = len(kinds) - len(names)
    if count > _MANY and not names and set(kinds) == {ARRAY}:
        return _CALL.format(
            parameters="*__a, **__others",
            alone=" and not __others",
            before=" " * 20 + "pass",
            before_finding="    pass",
            key="(__trace_key(), *__map(__spec_of, __a))",
            buffers="*__map(__buffer_of, __a)",
            args="__a",
            keywords="__others",
        )
    places = [f"__a{i}" for i in range(count)]
    pieces = [
        [part.format(a=a, i=i) for part in _PIECES[kind]]
        for i, (a, kind) in enumerate(zip((*places, *names), kinds, strict=True))
    ]
    before = "\n".join(piece[0] for piece in pieces if piece[0]) or "pass"
    first = "".join(f"{a}=__MISSING, " for a in places)
    named = "".join(f"{name}=__MISSING, " for name in names)
    return _CALL.format(
        parameters=f"{first}{'/, ' if places else ''}*__rest, {named}**__others",
        alone=" and not __rest and not __others",
        before=indent(before, " " * 20),
        before_finding=indent(before, " " * 4),
        key=f"({', '.join(['__trace_key()', *(piece[1] for piece in pieces)])},)",
        buffers=", ".join([piece[2] for piece in pieces if piece[2]]),
        args=f"({''.join(a + ', ' for a in places)}*__rest,)",
        keywords=f"{{{''.join(f'{n!r}: {n}, ' for n in names)}**__others}}",
    )


def form_of(kinds: tuple[str, ...], names: tuple[str, ...] = ()) -> Form:
    """The form of calls with arguments of these kinds, the last of which go by names, in order."""
    found = _forms.get((kinds, names))
    if found is None:
        if len(_forms) >= _LIMIT:
            _forms.clear()
        found = _forms.setdefault((kinds, names), Form(kinds, names))
    return found


_forms: Final[dict[Any, Form]] = {}


def note_keys(tree: dict[Any, Any]) -> bool:
    """Note what gives the values of a dict in the order of its keys; False where they have none."""
    keys = tuple(tree)
    if keys in getters:
        return True
    try:
        order = tuple(sorted(keys))
    except TypeError:
        return False
    if len(getters) >= _LIMIT:
        getters.clear()
        _by_sorted.clear()
    getter: Any = itemgetter(*order) if len(order) > 1 else lambda x: tuple(x.values())
    getters[keys] = _by_sorted.setdefault(order, getter)
    return True
