"""Programs that can't work; the line to blame ends in `# here`."""

from __future__ import annotations

import inspect
import traceback

import numpy as np

import effax as jax
import effax.numpy as jnp
from effax.effects.config import traceback_filtering


def fails(function):
    """The exception of a program, the line it should name, and the frames of its traceback."""
    lines, first = inspect.getsourcelines(function)
    (line,) = [first + i for i, text in enumerate(lines) if text.rstrip().endswith("# here")]
    try:
        with traceback_filtering("quiet_remove_frames"):
            function()
    except Exception as error:
        return error, line, traceback.extract_tb(error.__traceback__)
    raise AssertionError(f"{function.__name__} does not fail")


# ----------------------------------------------------- the pages of JAX's documentation, "Errors"


def traced_axis():
    @jax.jit
    def func(x, axis):
        return x.min(axis)  # here

    func(jnp.arange(4), 0)


def traced_mask():
    @jax.jit
    def positive(x):
        return x[x > 0]  # here

    positive(jnp.arange(3))


def traced_mask_at_set():
    @jax.jit
    def positive(x):
        return x.at[x > 0].get()  # here

    positive(jnp.arange(3))


def numpy_function():
    @jax.jit
    def func(x):
        return np.sin(x)  # here

    func(jnp.arange(3.0))


def numpy_array_indexed():
    table = np.arange(10)

    @jax.jit
    def func(i):
        return table[i]  # here

    func(0)


def branch():
    @jax.jit
    def func(x, y):
        return x if x.sum() < y.sum() else y  # here

    func(jnp.ones(4), jnp.zeros(4))


def branch_on_static():
    @jax.jit
    def func(x, normalize=True):
        if normalize:  # here
            return x / x.sum()
        return x

    func(jnp.arange(5.0), True)


def branch_by_all():
    @jax.jit
    def func(x):
        x = x + 1
        if all([x > 0, x < 3]):  # here
            return x
        return -x

    func(1.0)


def list_indexed():
    numbers = [1, 2, 3]

    @jax.jit
    def func(i):
        return numbers[i]  # here

    func(0)


def list_method():
    def func(i):
        return jnp.ones(3).take(0) * range(5)[i]  # here

    jax.jit(func)(0)


def loop_over_range():
    @jax.jit
    def func(n):
        total = 0
        for i in range(n):  # here
            total += i
        return total

    func(3)


def escaped():
    kept = []

    @jax.jit
    def side_effecting(x):
        y = x + 1
        kept.append(y)
        return y

    side_effecting(1.0)
    kept[0] + 1  # here


def escaped_from_grad():
    kept = []
    jax.grad(lambda x: kept.append(x * 2) or x)(1.0)
    jnp.sin(kept[0])  # here


def escaped_into_vmap():
    kept = []
    jax.vmap(lambda x: kept.append(x) or x)(jnp.arange(3.0))
    jax.jit(lambda x: x + kept[0])(1.0)  # here


def escaped_from_loop():
    kept = []
    jax.lax.fori_loop(0, 3, lambda i, x: kept.append(x) or x, 1.0)
    kept[0].sum()  # here


def as_float():
    @jax.jit
    def func(x):
        return float(x) * 2  # here

    func(1.0)


def length_of_arange():
    @jax.jit
    def func(n):
        return jnp.arange(n)  # here

    func(3)


def shape_from_value():
    @jax.jit
    def func(n):
        return jnp.zeros(n)  # here

    func(3)


def key_used_twice():
    with jax.debug_key_reuse(True):
        key = jax.random.key(0)
        jax.random.normal(key)
        jax.random.normal(key)  # here


def math_function():
    import math

    @jax.jit
    def func(x):
        return math.sin(x)  # here

    func(1.0)


# ---------------------------------------------------------------------------- common surprises


def item_assignment():
    x = jnp.arange(3)
    x[0] = 1  # here


def item_assignment_while_traced():
    @jax.jit
    def func(x):
        x[0] = 1  # here
        return x

    func(jnp.arange(3))


def list_to_sum():
    jnp.sum([1, 2, 3])  # here


def list_to_add():
    jnp.add([1, 2], 1)  # here


def gradient_by_int():
    jax.grad(lambda x: x * x)(2)  # here


def gradient_of_vector():
    jax.grad(lambda x: x * x)(jnp.ones(3))  # here


def unhashable_static():
    jax.jit(lambda x, n: x, static_argnums=1)(1.0, [1])  # here


def array_as_static():
    jax.jit(lambda x, n: x, static_argnums=1)(1.0, jnp.ones(2))  # here


def text_as_argument():
    jax.jit(lambda x: x)("text")  # here


def text_as_result():
    jax.jit(lambda x: "text")(1.0)  # here


def text_added():
    jnp.add(1, "text")  # here


def shapes_do_not_fit():
    jnp.ones(3) + jnp.ones(4)  # here


def lengths_do_not_fit():
    jnp.dot(jnp.ones((2, 3)), jnp.ones((2, 3)))  # here


def axis_out_of_bounds():
    jnp.sum(jnp.ones(3), axis=4)  # here


def slice_out_of_bounds():
    jax.lax.slice(jnp.arange(3), (2,), (9,))  # here


def unbound_axis():
    jax.lax.psum(1.0, "i")  # here


def sizes_do_not_fit():
    jax.vmap(lambda x, y: x + y)(jnp.ones(3), jnp.ones(4))  # here


def donated_then_used():
    f = jax.jit(lambda x: x + 1, donate_argnums=0)
    x = jnp.ones(3)
    f(x)
    x + 1  # here


def iterated_scalar():
    @jax.jit
    def func(x):
        return [y for y in x]  # here

    func(1.0)


def formatted():
    jax.jit(lambda x: f"{x:.2f}")(1.0)  # here


def array_as_condition():
    if jnp.arange(3):  # here
        pass


def branches_differ():
    jax.lax.cond(True, lambda x: x, lambda x: (x, x), 1.0)  # here


def carry_differs():
    jax.lax.fori_loop(0, 3, lambda i, c: (c, c), 1.0)  # here


def key_is_no_key():
    jax.random.normal(1.5)  # here


def printed_name_missing():
    jax.debug.print("{y}", x=1)  # here


def trees_differ():
    jax.tree.map(lambda x, y: x, {"a": 1}, {"b": 1})  # here


def too_many_indices():
    jnp.ones(3).at[0, 0].set(1)  # here


def array_hashed():
    {jnp.ones(3): 1}  # here
