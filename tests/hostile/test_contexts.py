"""Contexts that outlive a trace, and scopes that one task enters and another leaves."""

import asyncio
import contextvars
import io
import threading

import numpy as np
import pytest

import effax
import effax.lax as lax
import effax.numpy as jnp
from effax import config, extend
from effax.effects.config import default_matmul_precision, enable_x64
from effax.effects.handler import bottom, current, stack

ARRAY = type(jnp.ones(3))


def taken_inside(transform):
    """A copy of the context in which a transform calls its function; the transform has ended."""
    found = []

    def f(x):
        found.append(contextvars.copy_context())
        return (x * x).sum()

    transform(f)(jnp.ones(3))
    return found[-1]


TRANSFORMS = {
    "jit": effax.jit,
    "grad": effax.grad,
    "grad of jit": lambda f: effax.grad(effax.jit(f)),
    "vmap": lambda f: effax.vmap(f),
    "jvp": lambda f: lambda x: effax.jvp(f, (x,), (x,)),
    "linearize": lambda f: lambda x: effax.linearize(f, x),
    "vjp": lambda f: lambda x: effax.vjp(f, x),
    "scan": lambda f: lambda x: lax.scan(lambda c, _: (c + f(x), None), 0.0, None, length=2),
    "make_program": effax.make_program,
    "nested": lambda f: effax.jit(effax.grad(effax.checkpoint(f))),
}


def compute():
    """Run a program that would fail if anything but arrays came of its calls."""
    x = jnp.ones(3) + 1
    y = effax.jit(lambda x: x * 2)(x)
    z = effax.grad(lambda x: (x * y).sum())(x)
    w = effax.vmap(lambda x: x + 1)(z)
    n = int(jnp.arange(4)[1:].sum())
    with effax.named_scope("name"), effax.ensure_compile_time_eval():
        v = jnp.zeros((2, 3)).at[0].set(w)
    return [np.asarray(a) for a in (x, y, z, w, v)], n


@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_context_copied_while_a_function_is_traced(name):
    context = taken_inside(TRANSFORMS[name])
    for found, expected in zip(context.run(compute)[0], compute()[0], strict=True):
        np.testing.assert_array_equal(found, expected)
    assert context.run(stack) == [] and context[current] is bottom


def test_the_fast_path_is_found_again():
    """The dead handler is taken off the context, so that later calls cost what they cost."""
    context = taken_inside(effax.jit)
    f = effax.jit(lambda x: x + 1)
    assert type(context.run(f, jnp.ones(3))) is ARRAY
    assert context[current] is bottom


def test_tasks_made_inside_a_jitted_function():
    async def later():
        await asyncio.sleep(0)
        return jnp.ones(3) + 1

    async def main():
        tasks = []

        @effax.jit
        def f(x):
            tasks.append(asyncio.ensure_future(later()))
            return effax.vmap(lambda x: tasks.append(asyncio.ensure_future(later())) or x)(x)

        f(jnp.ones(2))
        return await asyncio.gather(*tasks, asyncio.to_thread(lambda: jnp.ones(3) + 1))

    results = asyncio.run(main())
    assert len(results) >= 3 and all(type(x) is ARRAY for x in results)


def test_an_escaped_value_is_still_refused_by_name():
    kept = []

    @effax.jit
    def f(x):
        kept.append((contextvars.copy_context(), x))
        return x

    f(1.0)
    context, x = kept[0]
    with pytest.raises(effax.errors.UnexpectedTracerError):
        context.run(lambda: x + 1)


SCOPES = {
    "config": (lambda: enable_x64(True), lambda: jnp.arange(2).dtype.name, "int32"),
    "enable_x64": (effax.enable_x64, lambda: jnp.arange(2).dtype.name, "int32"),
    "mesh": (
        lambda: effax.make_mesh((1,), ("x",)),
        lambda: str(effax.sharding.get_abstract_mesh().empty),
        "True",
    ),
    "set_mesh": (
        lambda: effax.set_mesh(effax.make_mesh((1,), ("x",))),
        lambda: str(effax.sharding.get_abstract_mesh().empty),
        "True",
    ),
    "matmul": (
        lambda: effax.default_matmul_precision("highest"),
        lambda: str(config.default_matmul_precision),
        "None",
    ),
    "device": (lambda: effax.default_device(effax.devices()[0]), lambda: "", ""),
    "named_scope": (lambda: effax.named_scope("name"), lambda: "", ""),
    "compile time": (effax.ensure_compile_time_eval, lambda: str(stack()), "[]"),
    "explain": (lambda: effax.explain(file=io.StringIO()), lambda: str(stack()), "[]"),
    "transfer_guard": (
        lambda: effax.transfer_guard("disallow"),
        lambda: jnp.ones(3).at[np.asarray(0)].set(1).dtype.name,
        "float32",
    ),
    "checking_leaks": (effax.checking_leaks, lambda: str(config.check_tracer_leaks), "False"),
    "debug_nans": (lambda: effax.debug_nans(True), lambda: str(config.debug_nans), "False"),
}


async def _in_tasks(*steps):
    return [await asyncio.create_task(_step(step)) for step in steps]


async def _step(step):
    return step()


@pytest.mark.parametrize("name", SCOPES)
def test_a_scope_entered_in_one_task_and_left_in_another(name):
    make, look, usual = SCOPES[name]
    assert look() == usual
    contexts = []

    def enter():
        scope = make()
        contexts.append(contextvars.copy_context())
        if hasattr(scope, "__enter__"):
            scope.__enter__()
        entered.append(scope)
        return contextvars.copy_context()

    entered = []
    context = asyncio.run(_in_tasks(enter))[0]
    child = context.run(contextvars.copy_context)
    contextvars.Context().run(entered[0].__exit__, None, None, None)
    assert look() == usual
    assert context.run(look) == usual and child.run(look) == usual, "it holds nowhere any more"


def test_scopes_inside_one_that_another_task_left():
    outer, inner = enable_x64(True), default_matmul_precision("highest")
    context = contextvars.copy_context()
    context.run(outer.__enter__)
    context.run(inner.__enter__)
    outer.__exit__(None, None, None)
    assert context.run(lambda: config.enable_x64) is False
    assert context.run(lambda: config.default_matmul_precision) == "highest"
    context.run(inner.__exit__, None, None, None)
    assert context.run(lambda: config.default_matmul_precision) is None
    before = context.run(_scopes_here)
    for _ in range(100):
        outer = enable_x64(True)
        context.run(outer.__enter__)
        outer.__exit__(None, None, None)
    assert context.run(_scopes_here) <= before, "what was left does not pile up"


def _scopes_here():
    scope = next(v for k, v in contextvars.copy_context().items() if k.name == "effax.config")
    depth = 0
    while scope is not None:
        scope, depth = scope.outer, depth + 1
    return depth


def test_one_scope_in_two_tasks_at_the_same_time():
    scope = enable_x64(True)
    a, b = contextvars.copy_context(), contextvars.copy_context()
    a.run(scope.__enter__)
    b.run(scope.__enter__)
    a.run(scope.__exit__, None, None, None)
    assert (a.run(lambda: config.enable_x64), b.run(lambda: config.enable_x64)) == (False, True)
    b.run(scope.__exit__, None, None, None)
    assert b.run(lambda: config.enable_x64) is False and config.enable_x64 is False


def test_a_users_handler_that_another_task_leaves():
    class Passing(extend.Handler):
        def perform(self, effect, operands, attributes):
            raise AssertionError("a dead handler was asked")

    context = contextvars.copy_context()
    scope = Passing().installed()
    context.run(scope.__enter__)
    scope.__exit__(None, None, None)
    assert context.run(lambda: float(jnp.ones(3).sum() + 1)) == 4


def test_threads_that_take_over_a_context():
    context, results = taken_inside(effax.jit), []
    thread = threading.Thread(target=context.run, args=(lambda: results.append(compute()[1]),))
    thread.start()
    thread.join()
    assert results == [6]
