"""Faults of the past: each test is the smallest program that showed one."""

import copy
import gc
import inspect
import pickle

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import lax


def test_forward_mode_of_python_numbers() -> None:
    value, tangent = effax.jvp(lambda x: x * int(x) + 3.0 * x, (2.0,), (1.0,))
    assert (float(value), float(tangent)) == (10.0, 5.0)
    zero = np.zeros((), effax.dtypes.float0)
    _, (tangent, nothing) = effax.jvp(lambda a, n: (a * n, n + 1), (2.0, 3), (1.0, zero))
    assert float(tangent) == 3.0
    assert nothing.dtype == effax.dtypes.float0


@pytest.mark.parametrize("given", [(jnp.arange(3),), (jnp.arange(3), 2)])
def test_eval_shape_gives_types_of_float0(given) -> None:
    """A tangent of integers came back as an array."""
    zero = np.zeros(3, effax.dtypes.float0)
    found = effax.eval_shape(lambda x, *_: effax.jvp(lambda a: a, (x,), (zero,)), *given)
    assert [type(x) for x in found] == [effax.ShapeDtypeStruct] * 2
    assert (found[1].shape, found[1].dtype) == ((3,), effax.dtypes.float0)


def test_reverse_mode_of_python_numbers() -> None:
    _, pull = effax.vjp(lambda a, n: a * n, 2.0, 3)
    given, nothing = pull(1.0)
    assert float(given) == 3.0
    assert nothing.dtype == effax.dtypes.float0
    one, other = effax.linear_transpose(lambda x, y: x + 2.0 * y, 1.0, 2.0)(3.0)
    assert (float(one), float(other)) == (3.0, 6.0)


def test_custom_rules_take_python_numbers() -> None:
    @effax.custom_jvp
    def f(x, y):
        return x * (y * 3.0)

    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0] * 7.0))
    assert float(effax.grad(f)(1.0, 2.0)) == 7.0
    assert float(effax.vmap(f, (0, None))(jnp.ones(2), 2.0)[1]) == 6.0


def test_gradients_are_as_weak_as_their_arguments() -> None:
    assert effax.grad(lambda x: x**2)(3.0).weak_type
    assert effax.grad(lambda x: 3.0)(1.0).weak_type
    assert effax.grad(effax.grad(lambda x: x**3))(1.0).weak_type
    assert not effax.grad(lambda x: x**2)(jnp.float32(3)).weak_type
    weight = effax.grad(lambda b: jnp.sum(jnp.ones(3)) * b)(2.0)
    assert weight.weak_type
    assert (jnp.bfloat16(1) * weight).dtype == jnp.bfloat16


def test_tangents_of_another_shape_are_a_value_error() -> None:
    with pytest.raises(ValueError, match="do not match"):
        effax.jvp(jnp.sin, (jnp.ones(3),), (jnp.ones(2),))
    with pytest.raises(TypeError, match="do not match"):
        effax.jvp(jnp.sin, (1.0,), (1,))


def test_gradients_of_complex_results_are_refused() -> None:
    for function, at in ((lambda z: z * z, 1j), (lambda x: x * 1j, 1.0)):
        with pytest.raises(TypeError, match="real-valued outputs"):
            effax.grad(function)(at)
    assert effax.jacfwd(lambda x: x * 1j)(1.0) == 1j


def test_missing_arguments_of_grad_are_a_type_error() -> None:
    with pytest.raises(TypeError, match="at least 2 positional"):
        effax.grad(lambda x: x, argnums=1)(1.0)
    with pytest.raises(TypeError, match="at least 1 positional"):
        effax.grad(lambda x: x)(x=1.0)


def test_a_weak_carry_takes_the_dtype_that_the_body_makes() -> None:
    carry, ys = lax.scan(lambda c, x: (c + 1.5, x), 0, jnp.arange(2.0))
    assert carry.dtype == jnp.float32
    assert float(carry) == 3.0
    assert ys.dtype == jnp.float32
    last = lax.while_loop(lambda c: c < 2, lambda c: c + 1.5, 0)
    assert last.dtype == jnp.float32
    assert float(last) == 3.0


def test_a_carry_is_staged_once_when_only_its_weakness_changes() -> None:
    staged = []

    def step(carry, x):
        staged.append(carry.weak_type)
        return carry + x, carry

    _, ys = lax.scan(step, 0.0, jnp.ones(3))
    assert staged == [True]
    assert ys.weak_type


def test_counters_of_loops_are_weak() -> None:
    assert lax.fori_loop(0, 3, lambda i, c: c + i, 0).weak_type
    assert lax.fori_loop(0, 3, lambda i, c: c + i, jnp.int8(0)).dtype == jnp.int8
    assert lax.fori_loop(jnp.int8(0), jnp.int8(3), lambda i, c: c + i, 0).dtype == jnp.int32


def test_reverse_mode_goes_past_what_a_while_loop_only_passes_on() -> None:
    def f(x):
        return lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1]), (0, x))[1] * x

    assert float(effax.grad(f)(2.0)) == 4.0
    assert np.allclose(effax.vmap(effax.grad(f))(jnp.arange(3.0)), [0.0, 2.0, 4.0])


def test_residuals_are_freed_without_the_garbage_collector() -> None:
    x = jnp.ones(5)

    def f(x):
        return jnp.sum(jnp.sin(x) * x)

    uses = (
        lambda: effax.grad(f)(x),
        lambda: effax.vjp(f, x)[1](jnp.float32(1)),
        lambda: effax.linearize(f, x)[1](x),
        lambda: effax.jvp(effax.grad(f), (x,), (x,)),
    )
    for use in uses:
        use()
        gc.collect()
        gc.disable()
        try:
            before = sum(isinstance(o, effax.Array) for o in gc.get_objects())
            live = len(effax.live_arrays()) if hasattr(effax, "live_arrays") else before
            for _ in range(5):
                use()
            assert sum(isinstance(o, effax.Array) for o in gc.get_objects()) <= before
            if hasattr(effax, "live_arrays"):
                assert len(effax.live_arrays()) <= live
        finally:
            gc.enable()


def test_copies_of_traced_values_are_themselves() -> None:
    assert float(effax.jit(lambda x: copy.deepcopy({"a": x})["a"] * 2)(1.0)) == 2.0
    assert float(effax.grad(lambda x: copy.copy(x) * 2)(1.0)) == 2.0


def test_traced_values_are_not_pickled() -> None:
    with pytest.raises(effax.errors.ConcretizationTypeError, match="pickle the result"):
        effax.jit(pickle.dumps)(1.0)


def test_types_stand_for_arrays_in_lower_and_eval_shape() -> None:
    struct = effax.ShapeDtypeStruct((3,), jnp.float32)
    found = effax.eval_shape(lambda x, y: x @ y, jnp.ones((2, 3)), struct)
    assert (found.shape, found.dtype) == ((2,), np.float32)
    compiled = effax.jit(lambda x, n: x * n, static_argnums=1).lower(struct, 3).compile()
    assert np.allclose(compiled(jnp.ones(3)), 3.0)


def test_float0_passes_the_borders_of_jit_and_vmap() -> None:
    float0 = effax.dtypes.float0
    by_integer = effax.grad(lambda p: p["a"] * p["n"], allow_int=True)
    one = effax.jit(by_integer)({"a": 2.0, "n": 3})
    assert float(one["a"]) == 3.0
    assert (one["n"].dtype, one["n"].shape) == (float0, ())
    many = effax.vmap(by_integer)({"a": jnp.ones(3), "n": jnp.arange(3)})
    assert np.allclose(many["a"], [0.0, 1.0, 2.0])
    assert (many["n"].dtype, many["n"].shape) == (float0, (3,))
    _, pull = effax.vjp(lambda a, n: (a * n, n), jnp.ones(3), 3)
    given, _ = effax.jit(pull)((jnp.ones(3), np.zeros((), float0)))
    assert np.allclose(given, 3.0)
    given, _ = effax.vmap(pull)((jnp.eye(3), np.zeros(3, float0)))
    assert np.allclose(given, 3.0 * np.eye(3))
    rows = effax.jacrev(lambda n: n * 2.0, allow_int=True)(jnp.arange(2))
    assert (rows.dtype, rows.shape) == (float0, (2, 2))


def test_backward_rules_leave_parts_of_an_argument_out() -> None:
    @effax.custom_vjp
    def f(p, b):
        return p["x"] * p["y"][0], b

    f.defvjp(
        lambda p, b: (f(p, b), None),
        lambda _, g: ({"x": g[0] * 7.0, "y": (None, None), "z": None}, None),
    )
    given = effax.grad(lambda p: f(p, 3.0)[0])({"x": 1.0, "y": (2.0, jnp.ones(2)), "z": None})
    assert float(given["x"]) == 7.0
    assert not np.any(given["y"][1])
    assert given["z"] is None


def test_constants_of_a_while_loop_come_back_as_arrays() -> None:
    last = lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0], c[1]), (5, 1.0))
    assert all(isinstance(x, effax.Array) for x in last)
    assert [float(x) for x in last] == [5.0, 1.0]


def test_rules_say_nothing_of_closures_and_gradients_are_not_silently_zero() -> None:
    def outer(w, x):
        f = effax.custom_vjp(lambda x: x * w)
        f.defvjp(lambda x: (x, None), lambda _, g: (g * 2.0,))
        return f(x)

    assert float(effax.grad(outer, 1)(2.0, 3.0)) == 2.0
    with pytest.raises(effax.errors.UnsupportedDerivativeError, match="closes over"):
        effax.grad(outer)(2.0, 3.0)
    with pytest.raises(effax.errors.UnsupportedDerivativeError, match="closes over"):
        effax.grad(lambda c: lax.scan(lambda c, t: (outer(c, t), None), c, jnp.ones(2))[0])(1.0)


def test_forward_rules_may_ask_what_is_differentiated() -> None:
    f = effax.custom_vjp(lambda x, y: x * y)

    def forward(x, y):
        return x.value * y.value, (x.perturbed, y.perturbed)

    f.defvjp(forward, lambda moves, g: (g * moves[0], g * moves[1] * 5.0), symbolic_zeros=True)
    assert float(effax.grad(f, 0)(2.0, 3.0)) == 1.0
    assert [float(g) for g in effax.grad(f, (0, 1))(2.0, 3.0)] == [1.0, 5.0]
    assert np.allclose(effax.vmap(effax.grad(f, 1))(jnp.ones(2), jnp.ones(2)), 5.0)


def test_loops_without_jit_are_loops_of_python() -> None:
    with effax.disable_jit():
        assert lax.fori_loop(0, 4, lambda i, c: c + i, 0) == 6
        assert float(lax.fori_loop(0, 3, lambda i, c: c * 2.0, jnp.float32(1))) == 8.0


def test_what_is_not_mapped_need_be_no_array():
    apply = effax.vmap(lambda f, x: f(x), in_axes=(None, 0))
    np.testing.assert_array_equal(apply(jnp.square, jnp.arange(3)), [0, 1, 4])


@pytest.mark.parametrize("staged", [False, True])
def test_at_compile_time_transforms_keep_what_is_theirs(staged):
    """As NumPyro validates the parameters of distributions: by a comparison, which may be known."""

    def f(x):
        y = x * 2
        with effax.ensure_compile_time_eval():
            fine = (y == y).all() & jnp.all(jnp.isfinite(jnp.stack([y, jnp.ones_like(y)])))
            n = int(jnp.arange(4).sum()) + int(effax.grad(jnp.square)(1.0))
        return jnp.where(fine, y * n, 0).sum()

    f = effax.jit(f) if staged else f
    for _ in range(3):  # derivatives met often are compiled
        np.testing.assert_array_equal(effax.grad(f)(jnp.ones(3)), [16, 16, 16])
    np.testing.assert_array_equal(effax.vmap(f)(jnp.ones(3)), [16, 16, 16])
    np.testing.assert_array_equal(effax.jvp(f, (1.0,), (1.0,)), [16, 16])
    np.testing.assert_array_equal(effax.jit(effax.vmap(effax.grad(f)))(jnp.ones(2)), [16, 16])


def test_truth_values_are_never_weak():
    seen = []
    effax.jit(lambda x: seen.append(jnp.array(False).weak_type))(1.0)
    effax.vmap(lambda x: seen.append(jnp.asarray(True).weak_type))(jnp.ones(2))
    assert seen == [False, False]


def test_types_may_be_returned_where_types_are_asked():
    asked = effax.ShapeDtypeStruct((2,), "float32")
    assert effax.eval_shape(lambda x: (x, asked), jnp.ones(3))[1] == asked
    with pytest.raises(TypeError, match="ShapeDtypeStruct"):
        effax.jit(lambda: asked)()


def test_attributes_that_were_set_on_a_function_are_on_what_transforms_make_of_it() -> None:
    def f(x):
        return x * 2.0

    f.made_of = "what a library remembers"
    f._name = "a name that a transform has for itself"
    transforms = [
        effax.jit,
        effax.vmap,
        effax.pmap,
        effax.grad,
        effax.jacfwd,
        effax.checkpoint,
        effax.custom_jvp,
        effax.custom_vjp,
        lambda f: effax.jit(effax.vmap(effax.jit(f))),
    ]
    for transform in transforms:
        assert transform(f).made_of == f.made_of
    assert effax.jit(f)._name == "f"
    assert "_traces" not in vars(effax.vmap(effax.jit(f)))


def test_a_jitted_function_has_its_signature_itself() -> None:
    def f(a, b=2):
        return a

    own = inspect.signature(effax.jit(f), follow_wrapped=False)
    assert own == inspect.signature(f)
    assert next(iter(inspect.signature(type(effax.jit(f))).parameters)) == "function"


def test_where_jit_is_disabled_pmap_runs_the_function_each_time() -> None:
    seen = []

    def f(x, y):
        seen.append(x)
        return lax.psum(x, "places") + y, 3.0, lax.axis_index("places")

    mapped = effax.pmap(f, axis_name="places", in_axes=(1, None), out_axes=(0, None, 0))
    x = jnp.array([[1.0], [2.0]])
    expected = mapped(x, 1.0)
    with effax.disable_jit():
        for _ in range(2):
            found = mapped(x, 1.0)
            assert effax.tree.map(lambda a: a.tolist(), found) == ([[2.0, 3.0]], 3.0, [0])
    assert len(seen) == 3
    assert effax.tree.map(lambda a: (a.shape, a.dtype), found) == (
        effax.tree.map(lambda a: (a.shape, a.dtype), expected)
    )


def test_a_function_that_is_several_branches_is_staged_once() -> None:
    seen = []

    def f(x):
        seen.append(x)
        return x**2

    assert lax.switch(2, [f, jnp.negative, f], 3) == 9
    assert len(seen) == 1
    assert effax.grad(lambda x: lax.cond(x > 1.0, f, f, x))(3.0) == 6.0
    assert len(seen) == 2


def test_the_sharding_of_a_type_is_replicated_though_its_mesh_has_no_devices() -> None:
    assert effax.typeof(jnp.ones(3)).sharding.is_fully_replicated


def test_a_stand_in_is_a_value_and_other_libraries_take_it_for_a_leaf() -> None:
    one = effax.ShapeDtypeStruct([2, 3], "float32", weak_type=True)
    assert (
        one == effax.ShapeDtypeStruct((2, 3), jnp.float32, weak_type=True) != one.update(shape=())
    )
    assert len({one, pickle.loads(pickle.dumps(one)), copy.copy(one)}) == 1
    assert not hasattr(one, "__attrs_attrs__")  # by which dm-tree knows nodes
    with pytest.raises(AttributeError, match="update"):
        one.shape = ()
    with pytest.raises(ValueError, match="dtype must be specified"):
        effax.ShapeDtypeStruct((), None)


def test_branches_not_taken_by_a_lane_leave_its_derivative_alone() -> None:
    def safe(x):
        return lax.cond(x < 1e-3, lambda x: 2.0 * x, jnp.sqrt, x)

    def closed_over(x):
        return lax.cond(x < 1e-3, lambda _: 1e-3, lambda _: jnp.sqrt(x), ())

    zeros = jnp.zeros(3)
    for gradient in (
        effax.vmap(effax.grad(safe)),
        effax.grad(lambda x: effax.vmap(safe)(x).sum()),
        effax.jit(effax.grad(lambda x: effax.jit(effax.vmap(safe))(x).sum())),
    ):
        assert np.array_equal(gradient(zeros), [2.0, 2.0, 2.0])
    assert np.array_equal(effax.grad(lambda x: effax.vmap(closed_over)(x).sum())(zeros), zeros)
    assert np.array_equal(
        effax.hessian(lambda x: effax.vmap(safe)(x).sum())(zeros), np.zeros((3, 3))
    )

    def chosen(x, w):
        branches = [lambda x, w: jnp.log(w) * x, lambda x, w: w * x]
        return effax.vmap(lambda x, i: lax.switch(i, branches, x, w))(x, jnp.ones(3, int)).sum()

    assert float(effax.grad(chosen, 1)(jnp.ones(3), 0.0)) == 3.0


def test_steps_of_lanes_that_are_done_leave_their_derivative_alone() -> None:
    def halved(x):
        done = lax.while_loop(lambda c: c > 1e-3, lambda c: c - jnp.sqrt(c), x, checkpoints=4)
        return done

    gradient = effax.grad(lambda x: effax.vmap(halved)(x).sum())(jnp.array([0.0, 1.0]))
    assert np.array_equal(gradient, [1.0, 0.5])


@pytest.mark.parametrize("name", ["nanvar", "nanstd"])
def test_derivatives_of_spreads_leave_out_nan(name) -> None:
    function = getattr(jnp, name)
    x = jnp.array([1.0, 2.0, jnp.nan])
    assert np.allclose(effax.grad(function)(x), [-0.5, 0.5, 0.0])
    assert np.allclose(effax.jvp(function, (x,), (jnp.ones(3),))[1], 0.0)
    masked = effax.grad(lambda x: jnp.var(x, where=~jnp.isnan(x)))(x)
    assert np.allclose(masked, [-0.5, 0.5, 0.0])


def test_signatures_of_nested_jits_are_asked_once_a_level() -> None:
    def f(x):
        return x + 1.0

    nested = f
    for _ in range(40):
        nested = effax.jit(nested)
    assert float(nested(1.0)) == 2.0  # took 2^40 steps
    assert inspect.signature(nested) == inspect.signature(f)


def test_what_branches_and_steps_pass_on_is_not_mapped() -> None:
    x = jnp.arange(3.0)

    def chosen(p, x, y):
        return lax.cond(p, lambda x, y: (x + 1, y), lambda x, y: (x, y), x, y)

    many, one = effax.vmap(chosen, (0, 0, None), (0, None))(x > 1, x, 5.0)
    assert np.array_equal(many, [0.0, 1.0, 3.0])
    assert float(one) == 5.0

    def carried(x, y):
        return lax.scan(lambda c, _: ((c[0] + c[1], c[1]), None), (x, y), None, 2)[0]

    many, one = effax.vmap(carried, (0, None), (0, None))(x, 5.0)
    assert np.array_equal(many, x + 10.0)
    assert float(one) == 5.0
    rows = effax.vmap(lambda c, x: lax.scan(lambda c, x: (c + x, x), c, x)[1], (0, None), None)
    assert np.array_equal(rows(x, x), x)
    program = effax.make_jaxpr(lambda c, x: lax.scan(lambda c, x: ((c[0], c[1] + x), x), c, x))
    assert len(program((1.0, 2.0), x).eqns[0].params["body"].outputs) == 1


@pytest.mark.parametrize("bounds", [(0.0, 3.0), (0.5, 3.0), (1.0, 1.0), (2, 5.0), (0.0, jnp.inf)])
def test_bounds_of_loops_may_be_floats(bounds) -> None:
    def looped(lower, upper):
        return lax.fori_loop(lower, upper, lambda i, c: c + i, 0.0)

    if type(bounds[0]) is not type(bounds[1]) and isinstance(bounds[0], int):
        with pytest.raises(TypeError, match="must have equal types"):
            looped(*bounds)
        return
    if np.isinf(bounds[1]):
        assert "while" in str(effax.make_jaxpr(lambda: looped(*bounds))())
        return
    expected = sum(np.arange(*bounds))
    assert float(looped(*bounds)) == expected
    assert float(effax.jit(looped)(*bounds)) == expected
    gradient = effax.grad(lambda x: lax.fori_loop(*bounds, lambda i, c: c * 2.0, x))
    assert float(gradient(1.0)) == 2.0 ** len(np.arange(*bounds))


def test_mapped_loops_run_with_jit_disabled() -> None:
    x = jnp.arange(3.0)
    with effax.disable_jit():
        doubled = effax.vmap(lambda x: lax.while_loop(lambda c: c < 3, lambda c: c + 2, x))(x)
        steps = effax.vmap(lambda n: lax.fori_loop(0, n, lambda i, c: c + 1, 0))(jnp.arange(3))
    assert np.array_equal(doubled, [4.0, 3.0, 4.0])
    assert np.array_equal(steps, [0, 1, 2])


def _log_of_negatives():
    return lax.cond(jnp.array(True), jnp.log, lambda x: x, jnp.array(-1.0))


@pytest.mark.parametrize(
    ("function", "where"),
    [
        (_log_of_negatives, "log, at"),
        (lambda: effax.jit(_log_of_negatives)(), "log, at"),
        (lambda: lax.switch(jnp.array(7), [jnp.sin, jnp.log], jnp.array(-1.0)), "log, at"),
        (lambda: lax.while_loop(lambda x: x < 0, jnp.log, jnp.array(-1.0)), "while, at"),
        (lambda: lax.scan(lambda c, _: (jnp.log(c), c), -1.0, None, 2), "scan, at"),
        (lambda: effax.pmap(jnp.log)(-jnp.ones(1)), "sharded computation. It is that of log, at"),
        (
            lambda: effax.shard_map(
                jnp.log,
                mesh=effax.make_mesh((1,), ("x",)),
                in_specs=effax.P("x"),
                out_specs=effax.P("x"),
            )(-jnp.ones(1)),
            r"\(shard_map\), at",
        ),
    ],
)
def test_nan_is_found_in_programs_of_one_effect(function, where) -> None:
    with effax.debug_nans(True), pytest.raises(FloatingPointError, match=where):
        function()


def test_handlers_that_wait_to_be_looked_at_hold_no_values() -> None:
    from effax.experimental import checkify

    checked = checkify.checkify(effax.vmap(jnp.log), errors=checkify.float_checks)
    with effax.checking_leaks():
        error, _ = effax.jit(checked)(jnp.arange(3.0) - 1.0)
    assert "log" in error.get()


def test_leaks_of_handlers_are_still_found() -> None:
    kept = []
    with effax.checking_leaks(), pytest.raises(effax.errors.LeakedCarrierError, match="Batch"):
        effax.vmap(lambda x: kept.append(x) or x)(jnp.ones(2))


@pytest.mark.parametrize(
    "call",
    [
        lambda: effax.vjp(jnp.sin, 1.0, reduce_axes=("i",)),
        lambda: effax.grad(jnp.sin, reduce_axes=("i",)),
        lambda: effax.linear_transpose(jnp.negative, 1.0, reduce_axes=("i",)),
    ],
)
def test_cotangents_are_not_summed_over_axes_silently(call) -> None:
    with pytest.raises(NotImplementedError, match="reduce_axes argument to"):
        call()


def test_where_nothing_is_derived_stop_gradient_is_the_array_itself() -> None:
    """As in JAX; it ran an executable that copied."""
    x = jnp.arange(3.0)
    assert lax.stop_gradient(x) is x
    assert lax.stop_gradient({"a": x, "b": 2})["a"] is x
    assert np.array_equal(effax.jacfwd(lambda x: x * lax.stop_gradient(x))(x), np.diag(x))
