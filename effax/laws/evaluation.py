"""Laws of running and recording: staging, compiling, and handlers that have nothing to say."""

from __future__ import annotations

from typing import Any

import numpy as np

import effax
from effax.backends.reference.evaluate import evaluate_program
from effax.effects.handler import Carrier, Handler, bottom, outside
from effax.effects.program import without_dead_code
from effax.effects.types import typeof
from effax.laws.law import SAME, Case, law
from effax.seeing.parsing import parse
from effax.seeing.python_text import program


class _Nothing(Carrier):
    """A carrier that is never made."""

    __slots__ = ()


class _Idle(Handler):
    """A handler that owns nothing."""

    __slots__ = ()

    carrier = _Nothing


@law("jit f = f", needs="mixed")
def jit_is_identity(c: Case) -> Any:
    return effax.jit(c.f)(*c.args), c.f(*c.args)


@law("jit (jit f) = jit f", needs="mixed")
def jit_is_idempotent(c: Case) -> Any:
    return effax.jit(effax.jit(c.f))(*c.args), effax.jit(c.f)(*c.args)


@law("run (stage f) = f", needs="mixed")
def staging_is_evaluation(c: Case) -> Any:
    return tuple(c.f.program().run(*c.args)), c.f(*c.args)


@law("stage (run (stage f)) = stage f", relation=SAME, needs="mixed")
def staging_is_idempotent(c: Case) -> Any:
    once = c.f.program()
    return str(program(once.run, *once.in_types, name=once.name)), str(once)


@law("print (parse (print f)) = print f", relation=SAME, needs="text")
def printing_is_faithful(c: Case) -> Any:
    once = str(c.f.program())
    return str(parse(once)), once


@law("stage (g . f) = stage g . stage f", needs="g")
def staging_composes(c: Case) -> Any:
    composed = program(lambda *xs: c.g(*c.f(*xs)), *c.f.types)
    return composed.run(*c.args), c.g.program().run(*c.f.program().run(*c.args))


@law("the types of f's results are those of stage f", relation=SAME, needs="mixed")
def typing_is_right(c: Case) -> Any:
    found = [typeof(x).str_short() for x in c.f(*c.args)]
    return found, [t.str_short() for t in c.f.program().out_types]


@law("run (without dead code) = run", needs="mixed")
def dead_code_is_dead(c: Case) -> Any:
    once = c.f.program()
    return without_dead_code(once).run(*c.args), once.run(*c.args)


@law("an idle handler is the identity", needs="mixed")
def idle_handler(c: Case) -> Any:
    args = c.args
    return _Idle().run(c.f, *args), c.f(*args)


@law("an idle handler inside jit is the identity", needs="mixed")
def idle_handler_staged(c: Case) -> Any:
    return effax.jit(lambda *xs: _Idle().run(c.f, *xs))(*c.args), c.f(*c.args)


@law("the compiler agrees with the reference", needs="mixed")
def compiler_is_reference(c: Case) -> Any:
    """The left side is compiled, the right side evaluated by the reference."""
    arrays = [np.asarray(x) for x in c.args]
    with outside(bottom):
        compiled = [np.asarray(x) for x in effax.jit(c.f)(*arrays)]
    return compiled, evaluate_program(c.f.program(), *arrays)
