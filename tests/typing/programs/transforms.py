"""Transformed functions keep the parameters of those that they are made of."""

from functools import partial
from typing import Any, NamedTuple, assert_type

import effax
import effax.numpy as jnp
from effax import lax


class Params(NamedTuple):
    w: effax.Array
    b: effax.Array


def loss(params: Params, x: effax.Array, *, scale: float = 1.0) -> effax.Array:
    return scale * jnp.mean((x @ params.w + params.b) ** 2)


def with_aux(x: effax.Array) -> tuple[effax.Array, dict[str, effax.Array]]:
    return x.sum(), {"x": x}


@effax.jit
def step(params: Params, x: effax.Array) -> Params:
    grads = effax.grad(loss)(params, x, scale=2.0)
    return Params(*(p - 0.1 * g for p, g in zip(params, grads, strict=True)))


@partial(effax.jit, static_argnames="n", donate_argnums=0)
def powers(x: effax.Array, n: int) -> effax.Array:
    return x**n


@effax.jit(static_argnums=1)
def repeated(x: effax.Array, n: int) -> list[effax.Array]:
    return [x] * n


class Model:
    def __init__(self, w: effax.Array) -> None:
        self.w = w

    @effax.jit
    def apply(self, x: effax.Array) -> effax.Array:
        return x @ self.w

    @partial(effax.jit, static_argnums=0)
    def static(self, x: effax.Array) -> effax.Array:
        return x @ self.w


@effax.custom_vjp
def clipped(x: effax.Array, bound: float) -> effax.Array:
    return jnp.clip(x, -bound, bound)


clipped.defvjp(lambda x, bound: (clipped(x, bound), None), lambda residuals, ct: (ct, None))


@effax.custom_jvp
def twice(x: effax.Array) -> effax.Array:
    return 2 * x


@twice.defjvp
def twice_jvp(primals: Any, tangents: Any) -> tuple[effax.Array, effax.Array]:
    return twice(primals[0]), 2 * tangents[0]


@effax.checkpoint
def block(x: effax.Array) -> effax.Array:
    return jnp.sin(x)


def right(params: Params, x: effax.Array, model: Model) -> None:
    assert_type(step(params, x), Params)
    print(powers(x, n=3) + 1)  # mypy does not look into a partial of overloads
    assert_type(repeated(x, 3), list[effax.Array])
    assert_type(model.apply(x), effax.Array)
    assert_type(effax.jit(loss)(params, x), effax.Array)
    assert_type(effax.vmap(loss, in_axes=(None, 0))(params, x), effax.Array)
    assert_type(effax.value_and_grad(loss)(params, x)[0], effax.Array)
    assert_type(effax.value_and_grad(with_aux, has_aux=True)(x)[0][1], dict[str, effax.Array])
    assert_type(effax.grad(with_aux, has_aux=True)(x)[1], dict[str, effax.Array])
    assert_type(effax.jvp(block, (x,), (x,)), tuple[effax.Array, effax.Array])
    assert_type(effax.vjp(block, x)[0], effax.Array)
    assert_type(effax.vjp(with_aux, x, has_aux=True)[2], dict[str, effax.Array])
    assert_type(effax.linearize(block, x)[1](x), effax.Array)
    assert_type(clipped(x, 1.0), effax.Array)
    assert_type(twice(x), effax.Array)
    assert_type(block(x), effax.Array)
    print(step.lower(params, effax.ShapeDtypeStruct((3,), jnp.float32)).compile().as_text())
    print(effax.hessian(loss)(params, x), effax.jacfwd(block)(x), effax.make_jaxpr(loss)(params, x))
    print(effax.grad(lambda p: p["w"].sum())({"w": x}), effax.vmap(lambda a, b: a + b)(x, x))
    print(effax.jit(lambda x: x + 1)(x).sum(), effax.eval_shape(loss, params, x))
    print(effax.tree.map(lambda a: a * 2, params), model.static(x))


def control(x: effax.Array) -> None:
    def add(carry: effax.Array, y: effax.Array) -> tuple[effax.Array, effax.Array]:
        return carry + y, carry

    # Carries are trees, in which numbers become arrays: Any.
    carry, ys = lax.scan(add, 0.0, x)
    print(carry.sum(), lax.while_loop(lambda y: y.sum() < 3, block, x).sum())
    print(lax.fori_loop(0, 3, lambda i, y: y * i, x).sum())
    total, count = lax.fori_loop(0, 3, lambda i, state: (state[0] + i, state[1] + 1), (0.0, 0))
    print(ys, total, count, lax.cond(x.sum() > 0, lambda y: y, lambda y: -y, x))


def mistakes(params: Params, x: effax.Array) -> None:
    effax.grad(loss, argnums="x")  # refused
    effax.jit(loss, static_argnum=0)  # refused
    effax.jit(3)  # refused
    step(params)  # refused
    step(x, params)  # refused
    effax.grad(loss)(x, params)  # refused
    effax.vmap(loss)(params)  # refused
    effax.value_and_grad(loss)(params, x, rate=1)  # refused
    clipped(x)  # refused
    block("x")  # refused
    lax.scan(lambda c: c, x, x)  # refused
    lax.fori_loop(0, "3", lambda i, y: y, x)  # refused
    wrong: str = step(params, x)  # refused
    print(wrong)
