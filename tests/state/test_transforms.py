"""References under transformations: those made inside, and those that come from outside."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import lax
from effax.custom_batching import custom_vmap
from effax.effects.errors import RefError, UnexpectedTracerError
from effax.experimental import checkify


def horner(x):
    """x^3 + 2 x^2 + 3 x + 4, by way of references."""
    total, steps = effax.new_ref(jnp.zeros_like(x)), effax.new_ref(0)

    def step(i, _):
        coefficient = jnp.array([1.0, 2.0, 3.0, 4.0])[i]
        total[...] = total[...] * x + coefficient
        steps[...] += 1

    lax.fori_loop(0, 4, step, None)
    return total[...], steps[...]


def cubic(x):
    return x**3 + 2 * x**2 + 3 * x + 4


def slope(x):
    return 3 * x**2 + 4 * x + 3


X = np.array([-1.5, 0.5, 2.0], np.float32)


def test_from_outside_it_is_pure():
    for run in (lambda f: f, effax.jit, lambda f: effax.jit(effax.jit(f)), effax.checkpoint):
        value, steps = run(horner)(2.0)
        assert float(value) == cubic(2.0) and int(steps) == 4
    assert not effax.make_program(horner)(2.0).row


def test_derivatives():
    def f(x):
        return horner(x)[0]

    for g in (f, effax.jit(f), effax.checkpoint(f)):
        for x in X:
            assert np.allclose(effax.grad(g)(x), slope(x), rtol=1e-5)
            value, tangent = effax.jvp(g, (x,), (2.0,))
            assert np.allclose((value, tangent), (cubic(x), 2 * slope(x)), rtol=1e-5)
            assert np.allclose(effax.linearize(g, x)[1](2.0), 2 * slope(x), rtol=1e-5)
            assert np.allclose(effax.grad(effax.grad(g))(x), 6 * x + 4, rtol=1e-5)
            assert np.allclose(effax.hessian(g)(x), 6 * x + 4, rtol=1e-5)
            assert np.allclose(effax.jit(effax.grad(g))(x), slope(x), rtol=1e-5)


def test_batches():
    values, steps = effax.vmap(horner)(X)
    np.testing.assert_allclose(values, cubic(X), rtol=1e-5)
    np.testing.assert_array_equal(steps, [4, 4, 4])
    f = effax.jit(effax.vmap(effax.grad(lambda x: horner(x)[0])))
    np.testing.assert_allclose(f(X), slope(X), rtol=1e-5)
    g = effax.grad(lambda xs: jnp.sum(effax.vmap(lambda x: horner(x)[0])(xs)))
    np.testing.assert_allclose(g(X), slope(X), rtol=1e-5)


def test_linear_transpose():
    def f(x):
        ref = effax.new_ref(jnp.zeros(3))
        ref[1] = 2.0 * x
        effax.ref.addupdate(ref, slice(0, 2), jnp.stack([x, x]))
        return ref[...]

    (ct,) = effax.linear_transpose(f, 1.0)(jnp.array([1.0, 10.0, 100.0]))
    assert float(ct) == 31.0


def test_an_interpreter_of_a_users():
    class Doubled(effax.Interpreter):
        x: effax.Leaf

    @Doubled.default
    def twice(effect, *operands, **attributes):
        result = effect(*(o.x for o in operands), **attributes)
        return Doubled(result)

    def f(x):
        ref = effax.new_ref(0.0)
        lax.fori_loop(0, 3, lambda i, _: ref.__setitem__(..., ref[...] + x), None)
        return ref[...]

    assert float(Doubled.transform(f)(Doubled(2.0)).x) == 6.0
    outside = effax.new_ref(0.0)
    with pytest.raises(RefError, match="Doubled"):
        Doubled.transform(lambda x: outside.__setitem__(..., x))(Doubled(jnp.float32(2)))


def test_checkify():
    ref = effax.new_ref(jnp.zeros(3))

    def f(x, i):
        checkify.check(x > 0, "must be positive")
        inner = effax.new_ref(x)
        inner[...] = jnp.log(inner[...])
        ref[i] = x
        return inner[...]

    errors = checkify.user_checks | checkify.float_checks
    error, out = checkify.checkify(effax.jit(f), errors)(1.0, 0)
    assert error.get() is None and float(out) == 0.0
    assert checkify.checkify(f, errors)(-1.0, 1)[0].get().startswith("must be positive")
    np.testing.assert_array_equal(ref[...], [1, -1, 0])
    error, _ = checkify.checkify(effax.jit(lambda r, i: r[i]), checkify.index_checks)(ref, 7)
    assert "out-of-bounds" in error.get()


# ------------------------------------------------------------------------------- from outside


def test_jit_writes_what_it_is_given_and_what_it_closes_over():
    ref, other = effax.new_ref(jnp.zeros(3)), effax.new_ref(jnp.zeros(2))

    @effax.jit
    def step(given, x):
        given["a"][0] = x
        other[1] += x + given["a"][2]

    for x in (1.0, 2.0):
        step({"a": ref}, x)
    np.testing.assert_array_equal(ref[...], [2, 0, 0])
    np.testing.assert_array_equal(other[...], [0, 3])
    step({"a": effax.new_ref(jnp.array([0.0, 0.0, 5.0]))}, 1.0)
    np.testing.assert_array_equal(other[...], [0, 9])
    assert step._cache_size() == 1
    effax.jit(lambda *, r: r.__setitem__(0, 7.0))(r=ref)
    assert float(ref[0]) == 7.0
    effax.jit(lambda r: r.__setitem__(0, 8.0), static_argnums=0)(ref)
    effax.jit(lambda r: r.__setitem__(1, 8.0), donate_argnums=0)(ref)
    np.testing.assert_array_equal(ref[...], [8, 8, 0])


def test_jit_within_jit_and_disable_jit():
    ref = effax.new_ref(jnp.zeros(3))
    inner = effax.jit(lambda r, x: r.__setitem__(0, r[0] + x))

    @effax.jit
    def outer(r, x):
        inner(r, x)
        inner(r, r[0])
        return r[0]

    assert float(outer(ref, 1.0)) == 2.0 and float(ref[0]) == 2.0
    with effax.disable_jit():
        assert float(outer(ref, 1.0)) == 6.0
        lax.scan(lambda c, row: (c, row.__setitem__(..., 5.0)), 0, ref)
    np.testing.assert_array_equal(ref[...], [5, 5, 5])


def test_vmap_of_an_argument():
    ref = effax.new_ref(jnp.zeros((2, 3)))
    effax.vmap(lambda r, x: r.__setitem__(0, x))(ref, jnp.array([1.0, 2.0]))
    np.testing.assert_array_equal(ref[...], [[1, 0, 0], [2, 0, 0]])
    effax.vmap(lambda r, x: r.__setitem__(1, x), in_axes=(1, 0))(ref, jnp.arange(3.0))
    np.testing.assert_array_equal(ref[...], [[1, 0, 0], [0, 1, 2]])

    def step(r, x):
        lax.fori_loop(0, 3, lambda i, _: r.__setitem__(i, r[i] + x), None)

    effax.jit(effax.vmap(step))(ref, jnp.array([10.0, 20.0]))
    np.testing.assert_array_equal(ref[...], [[11, 10, 10], [20, 21, 22]])
    effax.vmap(effax.jit(lambda r: r.__setitem__(0, 0.0)))(ref)
    np.testing.assert_array_equal(ref[:, 0], [0, 0])
    total = effax.vmap(lambda r, x: r[1] + x, in_axes=(None, 0))(ref.at[0].get(), jnp.arange(2.0))
    np.testing.assert_array_equal(total, [10, 11])
    made = effax.vmap(effax.new_ref)(jnp.arange(3.0))
    np.testing.assert_array_equal(made[...], [0, 1, 2])


def test_vmap_reads_but_does_not_write_what_it_closes_over():
    ref = effax.new_ref(jnp.arange(3.0))
    np.testing.assert_array_equal(effax.vmap(lambda i: ref[i])(jnp.array([2, 0])), [2, 0])
    xs = jnp.arange(2.0)
    for write in (
        lambda x: ref.__setitem__(0, x),
        lambda x: ref.__setitem__(0, 5.0),
        lambda x: ref.__setitem__(jnp.int32(x), 5.0),
        lambda x: effax.ref.addupdate(ref, 0, x),
        effax.jit(lambda x: ref.__setitem__(0, x)),
        lambda x: lax.fori_loop(0, 2, lambda i, _: ref.__setitem__(0, x), None),
    ):
        with pytest.raises(RefError, match="Move the array reference to be an argument"):
            effax.vmap(write)(xs)
        with pytest.raises(RefError, match="Move the array reference to be an argument"):
            effax.jit(effax.vmap(write))(xs)
    with pytest.raises(RefError, match="out_axes None"):
        effax.vmap(lambda x: ref)(xs)
    np.testing.assert_array_equal(ref[...], [0, 1, 2])


def test_derivatives_read_but_keep_nothing_outside():
    ref = effax.new_ref(jnp.array([1.0, 5.0]))
    assert float(effax.grad(lambda x: ref[1] * x)(3.0)) == 5.0
    for f in (
        lambda x: (ref.__setitem__(0, x), x)[1],
        lambda x: (effax.ref.addupdate(ref, 0, x), x)[1],
        effax.jit(lambda x: (ref.__setitem__(0, x), x)[1]),
    ):
        for transform in (effax.grad, lambda f: lambda x: effax.jvp(f, (x,), (1.0,))):
            with pytest.raises(RefError, match="non-differentiated array reference"):
                transform(f)(3.0)
    for f in (
        lambda x: (ref.__setitem__(0, 7.0), x * x)[1],
        effax.jit(lambda x: (ref.__setitem__(0, 7.0), x * x)[1]),
        effax.checkpoint(lambda x: (ref.__setitem__(0, 7.0), x * x)[1]),
        lambda x: (ref.__setitem__(0, lax.stop_gradient(x) + 4.0), x * x)[1],
        effax.jit(lambda x: (ref.__setitem__(0, lax.stop_gradient(x) + 4.0), x * x)[1]),
    ):
        ref[0] = 0.0
        assert float(effax.grad(f)(3.0)) == 6.0 and float(ref[0]) == 7.0


@pytest.mark.parametrize("around", [lambda f: f, effax.jit, effax.checkpoint])
def test_constant_references_are_written_without_derivatives(around):
    """A value read after the write is a constant too, as in JAX 0.10.2."""

    def f(x, ref):
        ref[...] += 5.0 * x
        return x * ref[...]

    ref = effax.new_ref(2.0, kind="no_grad_no_remat")
    assert float(effax.grad(around(f))(3.0, ref)) == 17.0 and float(ref[...]) == 17.0
    tangent = effax.jvp(around(lambda x: f(x, ref)), (1.0,), (1.0,))[1]
    assert float(tangent) == float(ref[...]) == 22.0
    rows = effax.new_ref(jnp.arange(3.0), kind="no_grad_no_remat")
    effax.vmap(effax.grad(around(f)), (None, 0))(2.0, rows)
    np.testing.assert_array_equal(rows[...], [10.0, 11.0, 12.0])

    def made_inside(x):
        ref = effax.new_ref(x, kind="no_grad_no_remat")
        ref[...] *= x
        return ref[...] * x

    assert float(effax.grad(around(made_inside))(3.0)) == 9.0


def test_a_checkpointed_function_counts_its_calls_once():
    calls = effax.new_ref(0)

    @effax.checkpoint
    def f(x):
        calls[...] += 1
        return jnp.sin(x)

    effax.grad(lambda x: f(f(x)))(1.0)
    assert int(calls[...]) == 2


def test_jvp_of_a_reference():
    ref, tangent = effax.new_ref(jnp.array([1.0, 2.0])), effax.new_ref(jnp.ones(2))

    def f(r, x):
        r[0] = r[1] * x
        return r[0]

    out, moved = effax.jvp(f, (ref, 3.0), (tangent, 10.0))
    assert (float(out), float(moved)) == (6.0, 23.0)
    np.testing.assert_array_equal(ref[...], [6, 2])
    np.testing.assert_array_equal(tangent[...], [23, 1])
    with pytest.raises(TypeError, match="the tangent of a reference is a reference"):
        effax.jvp(f, (ref, 3.0), (jnp.ones(2), 1.0))
    with pytest.raises(TypeError, match="the tangent of a reference is a reference"):
        effax.jvp(f, (ref, 3.0), (effax.new_ref(jnp.ones(3)), 1.0))


@pytest.mark.parametrize(
    "transform",
    [
        effax.grad,
        effax.jacrev,
        lambda f: lambda r: effax.vjp(f, r),
        lambda f: lambda r: effax.linearize(f, r),
        lambda f: lambda r: effax.linear_transpose(f, r),
    ],
)
def test_no_reverse_mode_by_a_reference(transform):
    with pytest.raises(RefError, match="with respect to"):
        transform(lambda r: r[0])(effax.new_ref(jnp.ones(2)))


# ------------------------------------------------------------------------- gradients on the way


@effax.custom_vjp
def stash(ref, x):
    """The value itself; its cotangent is added to a reference."""
    return x


def _backward(ref, ct):
    effax.ref.addupdate(ref, ..., ct)
    return None, ct


stash.defvjp(lambda ref, x: (x, ref), _backward)


def test_cotangents_are_plumbed_out():
    def f(x, ref):
        return jnp.sin(stash(ref, x * x))

    for g in (f, effax.jit(f)):
        for run in (lambda h: h, effax.jit):
            ref = effax.new_ref(0.0)
            assert np.allclose(run(effax.grad(g))(2.0, ref), 4 * np.cos(4.0))
            assert np.allclose(ref[...], np.cos(4.0))

    @effax.jit
    def both(x):
        ref = effax.new_ref(0.0)
        return effax.grad(f)(x, ref), ref[...]

    assert np.allclose(both(2.0), (4 * np.cos(4.0), np.cos(4.0)))


@pytest.mark.parametrize(
    "wrap",
    [
        effax.checkpoint,
        lambda f: effax.jit(effax.checkpoint(f)),
        lambda f: lambda x, r: lax.cond(x > 0, f, lambda x, r: x, x, r),
        lambda f: effax.jit(lambda x, r: lax.switch(1, [lambda x, r: x, f], x, r)),
    ],
)
def test_cotangents_are_plumbed_out_of_calls_and_branches(wrap):
    def f(x, ref):
        return jnp.sin(stash(ref, x * x))

    for run in (lambda g: g, effax.jit):
        ref = effax.new_ref(0.0)
        assert np.allclose(run(effax.grad(wrap(f)))(2.0, ref), 4 * np.cos(4.0))
        assert np.allclose(ref[...], np.cos(4.0))


def test_cotangents_of_a_loop_are_added_up():
    ref = effax.new_ref(0.0)

    def f(x):
        return lax.scan(lambda c, _: (stash(ref, 2.0 * c), None), x, None, length=3)[0]

    assert float(effax.grad(f)(1.0)) == 8.0 and float(ref[...]) == 7.0

    rows = effax.new_ref(jnp.zeros(3))

    def scanned(x):
        return lax.scan(lambda c, row: (stash(row, 2.0 * c), None), x, rows)[0]

    with pytest.raises(UnexpectedTracerError, match="close over the reference that it scans"):
        effax.grad(scanned)(1.0)

    @effax.custom_vjp
    def stash_at(ref, i, x):
        return x

    def backward(kept, ct):
        effax.ref.addupdate(*kept, ct)
        return None, None, ct

    stash_at.defvjp(lambda ref, i, x: (x, (ref, i)), backward)

    def indexed(x):
        return lax.scan(lambda c, i: (stash_at(rows, i, 2.0 * c), None), x, jnp.arange(3))[0]

    assert float(effax.jit(effax.grad(indexed))(1.0)) == 8.0
    np.testing.assert_array_equal(rows[...], [4, 2, 1])


def test_cotangents_are_added_to_references():
    def f(a, b):
        return a["x"] * b + a["y"]

    args = {"x": jnp.array([1.0, 2.0]), "y": jnp.ones(2)}, jnp.array([3.0, 4.0])
    _, f_vjp = effax.vjp(f, *args)
    places = {"x": effax.new_ref(jnp.zeros(2)), "y": True}, effax.new_ref(jnp.ones(2))
    ct = jnp.array([1.0, 10.0])
    for _ in range(2):
        first, _ = f_vjp.with_refs(*places)(ct)
        np.testing.assert_array_equal(first["y"], ct)
    effax.jit(lambda a, b: (f_vjp.with_refs({"x": a, "y": True}, b)(ct), None)[1])(
        places[0]["x"], places[1]
    )
    np.testing.assert_array_equal(places[0]["x"][...], [9, 120])
    np.testing.assert_array_equal(places[1][...], [4, 61])
    with pytest.raises(ValueError, match="structure"):
        f_vjp.with_refs(places[1])
    with pytest.raises(ValueError, match="Invalid shape"):
        f_vjp.with_refs({"x": effax.new_ref(jnp.zeros(3)), "y": True}, True)(ct)


def test_functions_with_rules_read_but_do_not_write():
    ref = effax.new_ref(3.0)

    @effax.custom_jvp
    def scaled(x):
        return ref[...] * x

    scaled.defjvp(lambda primals, tangents: (scaled(*primals), ref[...] * tangents[0]))
    for f in (scaled, effax.jit(scaled)):
        assert float(f(2.0)) == 6.0 and float(effax.grad(f)(2.0)) == 3.0
        np.testing.assert_array_equal(effax.vmap(f)(jnp.arange(2.0)), [0, 3])

    @effax.custom_jvp
    def writes(x):
        ref[...] = x
        return x

    writes.defjvp(lambda primals, tangents: (primals[0], tangents[0]))
    assert float(writes(2.0)) == float(ref[...]) == 2.0  # the function itself is called
    with pytest.raises(RefError, match="has its own rule"):
        effax.jit(writes)(2.0)

    mapped = custom_vmap(lambda r, x: r[...] * x)
    mapped.def_vmap(lambda size, batched, r, x: (r * x, True))
    with pytest.raises(RefError, match="takes arrays"):
        mapped(ref, 2.0)


# --------------------------------------------------------------------------------- what is refused


def test_one_reference_once():
    ref = effax.new_ref(jnp.zeros(3))
    for use in (
        lambda: effax.jit(lambda p, q: q.__setitem__(0, p[1]))(ref, ref),
        lambda: effax.jit(lambda p: ref.__setitem__(0, p[1]))(ref),
        lambda: effax.jit(lambda p: ref[0] + p[1])(ref),
        lambda: lax.cond(True, lambda p, q: p[0], lambda p, q: q[0], ref, ref),
        lambda: lax.cond(True, lambda p: ref[0], lambda p: p[0], ref),
        lambda: effax.checkpoint(lambda p, q: p[0])(ref, ref),
        lambda: lax.scan(lambda c, row: (c + ref[0], None), 0.0, ref),
        lambda: effax.jit(lambda x: effax.jit(lambda p, q: p[0])(ref, ref))(1.0),
    ):
        with pytest.raises(ValueError, match="only one reference to a mutable array may be passed"):
            use()


def test_references_are_not_returned():
    ref = effax.new_ref(0.0)
    for use in (
        lambda: effax.jit(lambda r: r)(ref),
        lambda: effax.jit(lambda: {"a": ref})(),
        lambda: effax.jit(lambda: effax.new_ref(1.0))(),
        lambda: effax.make_jaxpr(lambda: effax.new_ref(1.0))(),
        lambda: effax.checkpoint(lambda: effax.new_ref(1.0))(),
        lambda: lax.scan(lambda c, x: (c, ref), 0, None, length=2),
        lambda: lax.scan(lambda c, x: (c, None), ref, None, length=2),
        lambda: lax.while_loop(lambda r: True, lambda r: r, ref),
        lambda: lax.fori_loop(0, 3, lambda i, r: r, ref),
        lambda: lax.cond(True, lambda: ref, lambda: ref),
    ):
        with pytest.raises(ValueError, match="mutable array references cannot be returned"):
            use()


def test_references_and_values_do_not_escape():
    kept, ref = [], effax.new_ref(0.0)
    effax.jit(lambda x: kept.append(effax.new_ref(x)))(1.0)
    effax.jit(lambda r: kept.append(r))(effax.new_ref(0.0))
    effax.vmap(lambda x: kept.append(effax.new_ref(x)))(jnp.arange(2.0))
    effax.grad(lambda x: (kept.append(effax.new_ref(x)), x)[1])(1.0)
    for escaped in kept:
        for use in (
            lambda r: r[...],
            lambda r: r.__setitem__(..., 1.0),
            effax.jit(lambda r: r[...]),
        ):
            with pytest.raises(UnexpectedTracerError, match="escaped"):
                use(escaped)
    effax.jit(kept.append)(1.0)
    with pytest.raises(UnexpectedTracerError, match="escaped"):
        ref[...] = kept[-1]
    assert float(ref[...]) == 0.0


def test_an_error_inside_leaves_the_contents():
    ref = effax.new_ref(jnp.zeros(2))

    def fails(r):
        r[0] = 1.0
        raise KeyError("stop")

    with pytest.raises(KeyError):
        effax.jit(fails)(ref)
    np.testing.assert_array_equal(ref[...], [0, 0])

    def told(x):
        raise ZeroDivisionError("told")

    def calls(r):
        r[0] = effax.pure_callback(told, effax.ShapeDtypeStruct((), "float32"), r[0])

    with pytest.raises(Exception, match="told"):
        effax.jit(calls)(ref)
        ref[...].block_until_ready()


def test_pmap_is_refused():
    ref = effax.new_ref(jnp.zeros(1))
    with pytest.raises(RefError):
        effax.pmap(lambda x: ref.__setitem__(0, x))(jnp.ones(1))


def test_compiled_ahead_of_time():
    ref = effax.new_ref(jnp.zeros(2))
    lowered = effax.jit(lambda r: r.__setitem__(0, 1.0)).lower(ref)
    assert "dynamic_update_slice" in lowered.as_text()
    lowered.compile()(ref)
    np.testing.assert_array_equal(ref[...], [1.0, 0.0])
    shape = effax.eval_shape(lambda r: r[0], ref)
    assert (shape.shape, shape.dtype) == ((), np.float32)


def test_a_compiled_function_reads_and_writes_references_at_each_call():
    """References that it closes over, too; results keep their tree and their shardings."""
    given, held, factor = effax.new_ref(jnp.zeros(3)), effax.new_ref(jnp.ones(2)), jnp.arange(3.0)

    @effax.jit
    def f(ref, y):
        ref[...] += y * factor
        held[0] += 5.0
        return {"sum": ref[...].sum(), "held": held[...]}

    compiled = f.lower(given, 2.0).compile()
    assert len(compiled.output_shardings) == len(compiled.output_formats) == 2
    first, second = compiled(given, 2.0), compiled(given, 2.0)
    assert [float(first["sum"]), float(second["sum"])] == [6.0, 12.0]
    np.testing.assert_array_equal(second["held"], [11.0, 1.0])
    np.testing.assert_array_equal(given[...], [0.0, 4.0, 8.0])
    held[...] = jnp.zeros(2)
    np.testing.assert_array_equal(compiled(given, 2.0)["held"], [5.0, 0.0])
    with pytest.raises(RefError, match="both closed over and passed as the argument r"):
        same = effax.jit(lambda r: (held[...], r.__setitem__(0, 1.0))[0])
        same.lower(effax.new_ref(jnp.zeros(2))).compile()(held)
    for wrong in (jnp.zeros(3), effax.new_ref(jnp.zeros(4))):
        with pytest.raises(TypeError, match="Argument types differ"):
            f.lower(given, 2.0).compile()(wrong, 2.0)
