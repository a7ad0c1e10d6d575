"""Kinds of steps whose programs are more than equations: rules, checks, solvers, hosts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from hypothesis import strategies as st

from effax.effects.rows import control as effects
from effax.effects.rows import custom, naming
from effax.effects.types import ShapedArray, is_float
from effax.laws.builder import Builder, Known
from effax.laws.control import body_of, some_floats, while_of
from effax.laws.derived_kernels import WAYS, block_of
from effax.laws.sketch import Made, Sketch


def _without_while(b: Builder) -> Builder:
    """The same environment, for programs that are differentiated backwards."""
    twin = Builder(b.draw, (), b.depth, b.control - {"while"}, b.grammar)
    twin.float = b.float
    return twin


def _operands(b: Builder) -> tuple[list[Known], list[ShapedArray]]:
    operands = [b.small(x, 2.0) for x in some_floats(b)]
    return operands, [x.type for x in operands]


def _body(b: Builder, types: list[ShapedArray]) -> Sketch:
    return body_of(b, types, [b.draw(st.sampled_from(types))])


def rules(b: Builder) -> None:
    """A program with its own derivative, or its own batching, for a rule."""
    operands, types = _operands(b)
    if not operands:
        return
    kind = b.draw(st.sampled_from(("own_jvp", "own_vjp", "own_vmap")))
    if kind == "own_vjp":
        body = _body(_without_while(b), types)
        rule = Made(kind, body, (b.draw(st.booleans()),))
        effect = custom.custom_vjp_call
    else:
        body = _body(b, types)
        rule = Made(kind, body)
        effect = custom.custom_jvp_call if kind == "own_jvp" else custom.custom_vmap_call
    b.perform(effect, *operands, program=body, rule=rule, name="own", bound=2.0)


POLICIES: Final = (
    "everything_saveable",
    "nothing_saveable",
    "dots_saveable",
    "dots_with_no_batch_dims_saveable",
)


def policy(b: Builder) -> None:
    """A call that is computed again in the backward pass, except for what a policy keeps."""
    operands, types = _operands(b)
    if not operands:
        return
    body = _body(b, types)
    chosen = b.draw(st.sampled_from((*POLICIES, None)))
    if chosen is None:
        named = naming.named
        inner = Builder(b.draw, types, 0, frozenset(), b.grammar)
        kept = inner.perform(named, inner.known[0], name="kept", bound=2.0)
        others = [kept, *inner.known[1 : len(types)]]
        results = inner.perform(effects.call, *others, program=body, name="rest", bound=2.0)
        body = inner.sketch(results, "body")
        made = Made("keeping", None, ("kept", b.draw(st.booleans())))
    else:
        made = Made("policy", None, (chosen,))
    b.perform(
        effects.remat,
        *operands,
        program=body,
        policy=made,
        name="kept",
        prevent_cse=b.draw(st.booleans()),
        bound=2.0,
    )


def checkpointed(b: Builder) -> None:
    """A loop of a length that is not known, which keeps a few of its states for reverse mode."""
    while_of(b, _without_while(b), checkpoints=b.draw(st.integers(1, 3)))


def checked(b: Builder) -> None:
    """A program with a check in it, answered; or one in a named scope."""
    operands, types = _operands(b)
    if not operands:
        return
    body = _body(b, types)
    if b.draw(st.booleans()):
        made = Made("checked", body, (b.draw(st.booleans()),))
    else:
        made = Made("scoped", body)
    b.perform(effects.call, *operands, program=made, name=made.name, bound=2.0)


def host(b: Builder) -> None:
    """The sine by NumPy, with a forward rule."""
    x = b.a_float()
    if x is not None:
        type = (x.type,)
        program, rule = Made("on_host", None, type), Made("of_host", None, type)
        b.perform(custom.custom_jvp_call, x, program=program, rule=rule, name="host")


def solving(b: Builder) -> None:
    """Prefixes by an associative scan, a root, or the solution of a linear system."""
    kind = b.draw(st.sampled_from(("prefixes", "prefixes", "rooted", "solved")))
    vector = kind == "solved"
    x = b.pick(
        lambda k: (
            is_float(k.type.dtype)
            and k.type.size > 0
            and (kind == "rooted" or len(k.shape) > 0)
            and (not vector or len(k.shape) == 1)
        )
    )
    if x is None:
        return
    x = b.small(x, 2.0)
    operands: list[Any] = [x]
    arguments: tuple[Any, ...] = (x.type,)
    if vector:
        peers = b.of(lambda k: k.type is x.type)
        operands.append(b.small(b.draw(st.sampled_from(peers)), 2.0))
    elif kind == "prefixes":
        axis = b.draw(st.integers(0, len(x.shape) - 1))
        arguments = (x.type, axis, b.draw(st.booleans()), b.draw(st.booleans()))
    made = Made(kind, None, arguments)
    b.perform(effects.call, *operands, program=made, name=kind, bound=8.0)


def kernel(b: Builder) -> None:
    """A program run on blocks of two arrays, whose results lie in one of several ways."""
    x = b.pick(lambda k: is_float(k.type.dtype) and len(k.shape) > 0 and k.type.size > 0)
    if x is None:
        return
    y = b.draw(st.sampled_from(b.of(lambda k: k.type is x.type)))
    operands = [b.small(x, 2.0), b.small(y, 2.0)]
    way = b.draw(st.sampled_from(WAYS))
    rows = b.draw(st.integers(1, x.shape[0]))
    block = block_of(x.type, rows, way).type
    body = body_of(b, [block, block], [block])
    made = Made("kernelled", body, (x.type, rows, way, b.draw(st.booleans())))
    b.perform(effects.call, *operands, program=made, name="kernelled", bound=8.0)


MORE: Final[dict[str, Callable[[Builder], None]]] = {
    "rules": rules,
    "policy": policy,
    "checkpointed": checkpointed,
    "checked": checked,
    "host": host,
    "solving": solving,
    "kernel": kernel,
}
"""These kinds, by the name under which they are asked for."""
