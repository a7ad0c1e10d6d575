"""Forms of calls: what stands at each argument, and the function that is written for such calls.

A compiled call is found by a key: the settings, and what the trace depends on of each argument. To
collect it in a loop that asks of every argument what it is costs as much as JAX's whole call (for
an array and a static 7.1 µs, 4.7 without; benchmarks/NOTES.md). So a function is written for each
form of call, once in a process: for `f(array, static, name=array)`

    def call(__a0=MISSING, __a1=MISSING, /, *__rest, name=MISSING, **__others):
        if <nothing is installed> and not __rest and not __others:
            try:
                launch = entries[trace_key(), __a0.spec, type(__a1), __a1, name.spec]
                buffers = [__a0.buffer, name.buffer]
            except (AttributeError, KeyError, TypeError):
                pass
            else:
                return launch(buffers)
        return missed(form, (__a0, __a1, *__rest), {"name": name, **__others})

An argument that is not what the form says lacks the attribute, or is found under no key.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Container
from keyword import iskeyword
from operator import itemgetter
from textwrap import indent
from typing import Any, Final, NamedTuple

import numpy as np

from effax.backends.xla.array import Array, asarray, buffer_of, entered, hosts, note_host, spec_of
from effax.backends.xla.dispatch import operand
from effax.backends.xla.launch import Launch
from effax.eager.calls import LEAF
from effax.effects import config
from effax.effects.config import trace_key
from effax.effects.effect import LITERALS, REFERENCES
from effax.effects.frames import boundary, settle, strip
from effax.effects.handler import bottom, current
from effax.effects.tree import registry, tree_flatten

Enter = Callable[[Any], tuple[Any, Any]]

ARRAY: Final = "array"
STATIC: Final = "static"
DICT: Final = "dict of arrays"
TREE: Final = "tree of arrays"
HOST: Final = "array of NumPy's"
"""One of a type met before, which is put on the device as it is."""
ENTERED: Final = "number"
"""A value of any type that has to be brought to the device; an array there already is let pass."""
MIXED: Final = "tree"

_MANY: Final = 64
_LIMIT: Final = 1024


class _Missing:
    """The placeholder of an argument that a form has and a call has not."""

    __slots__ = ()


MISSING: Final = _Missing()


class _Piece(NamedTuple):
    """Code for an argument `{a}`, the `{i}`-th: statements, and its parts of key and buffers."""

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
    # The key holds the getter, which is one object for the same keys in any order.
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
                    __launch = __entries[{key}]
                    __buffers = [{buffers}]
                except __Exception:  # it is looked at more closely, and refused there
                    pass
                else:
                    __work.hits += 1
                    return __launch(__buffers)
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
"""Functions that return a dict's values in the order of sorted keys, by its keys in any order."""
_by_sorted: Final[dict[tuple[Any, ...], Callable[[Any], tuple[Any, ...]]]] = {}
_SPACE: Final[dict[str, Any]] = {
    "__Exception": Exception,
    "__MISSING": MISSING,
    "__TypeError": TypeError,
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
"""The globals of generated functions, under names that no argument has: `calls` refuses those."""


class CallForm:
    """The kinds of a call's arguments; equal forms are one object."""

    __slots__ = ("_bind", "_find", "kinds", "names")

    def __init__(self, kinds: tuple[str, ...], names: tuple[str, ...]) -> None:
        self.kinds = kinds
        self.names = names
        space = dict(_SPACE)
        # A file name inside the library, so that tracebacks leave its frames out.
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


def form_of(kinds: tuple[str, ...], names: tuple[str, ...] = ()) -> CallForm:
    """The form of calls with arguments of these kinds, the last of which go by names, in order."""
    found = _forms.get((kinds, names))
    if found is None:
        if len(_forms) >= _LIMIT:
            _forms.clear()
        found = _forms.setdefault((kinds, names), CallForm(kinds, names))
    return found


_forms: Final[dict[Any, CallForm]] = {}


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


class FoundCall(NamedTuple):
    """The table and the key by which a call's compiled form is found, or is to be put."""

    shape: Any
    form: CallForm
    entries: dict[Any, Any]
    key: Any
    buffers: list[Any]
    launch: Launch | None


def find(
    args: tuple[Any, ...],
    keywords: dict[str, Any],
    places: Container[int],
    static_names: Container[str],
    known: CallForm | None,
    shape: Any,
    compiled: dict[CallForm, dict[Any, Launch]],
    enter: Enter,
) -> FoundCall | None:
    """Return where a call is found among those that were compiled for its function.

    Args:
      args, keywords: the arguments.
      places, static_names: those that are static.
      known: the form that calls of the same shape had, if there were any.
      shape: how many arguments there are, and what names.
      compiled: the launches of calls, by their forms and keys.
      enter: gives spec and buffer of what is no array on a device.

    Returns:
      None for arguments that have to be looked at more closely: references, what is no array,
      statics that can't be hashed.
    """
    try:
        form = _form_of(args, keywords, places, static_names, known)
        if form is None:
            return None
        entries = compiled.setdefault(form, {})
        key, buffers = form.find(args, keywords, enter)
        hash(key)
    except (AttributeError, OverflowError, TypeError):
        return None
    try:
        launch = entries.get(key)
    except Exception as error:  # a user's __eq__ may raise anything
        raise ValueError(
            "static arguments should be comparable using __eq__, as compiled code is found by "
            f"them, and comparing one failed: {type(error).__name__}: {error}"
        ) from error
    return FoundCall(shape, form, entries, key, buffers, launch)


def _entrance(convert: Callable[[Any], Any]) -> Enter:
    def entering(x: Any) -> tuple[Any, Any]:
        found = entered(x)
        if found is not None:
            return found
        array = convert(x)
        return array.spec, array.buffer

    return entering


enter: Final = _entrance(operand)
"""Gives spec and buffer of an operand; numbers have buffers in common."""
enter_own: Final = _entrance(asarray)
"""The same, for buffers that may be given away."""


def _form_of(
    args: tuple[Any, ...],
    keywords: dict[str, Any],
    places: Container[int],
    static_names: Container[str],
    known: CallForm | None,
) -> CallForm | None:
    """The form of a call, wide enough for those of the same shape that had a `known` one.

    None for calls that have to be looked at more closely: with references, or names that can't be
    written.
    """
    kinds = [STATIC if i in places else _kind(x) for i, x in enumerate(args)]
    names = tuple(sorted(keywords))
    for name in names:
        if iskeyword(name) or name.startswith("__") or not (name.isascii() and name.isidentifier()):
            return None
        kinds.append(STATIC if name in static_names else _kind(keywords[name]))
    if None in kinds:
        return None
    if known is not None:
        kinds = [*map(_wider, kinds, known.kinds)]
    return form_of(tuple(kinds), names)


def _kind(x: Any) -> Any:
    """The kind of an argument that is not static; None for references."""
    kind = type(x)
    if kind is Array:
        return ARRAY
    if kind is np.ndarray:
        return HOST if note_host(x) else ENTERED
    if kind in LITERALS:
        return ENTERED
    if kind is dict and x and all(type(y) is Array for y in x.values()) and note_keys(x):
        return DICT
    leaves, tree = tree_flatten(x)
    kinds = set(map(type, leaves))
    if not kinds.isdisjoint(REFERENCES):
        return None
    if tree == LEAF:
        return ENTERED
    return TREE if kinds <= {Array} else MIXED


def _wider(kind: Any, other: Any) -> Any:
    """The kind of what may be of either."""
    if kind == other:
        return kind
    both = {kind, other}
    if both <= {ARRAY, HOST, ENTERED}:
        return ENTERED
    return TREE if both <= {ARRAY, DICT, TREE} else MIXED


def given(
    args: tuple[Any, ...], keywords: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call without what stands for missing ones."""
    return (
        tuple([x for x in args if x is not MISSING]),
        {name: x for name, x in keywords.items() if x is not MISSING},
    )
