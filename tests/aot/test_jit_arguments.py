"""The arguments of `jit` itself, and its caches."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp

WRONG = {
    "unknown": ({"foo": 1}, TypeError, "unexpected keyword argument 'foo'"),
    "static name": ({"static_argnames": "zz"}, ValueError, "invalid argnames {'zz'} in static"),
    "donated name": ({"donate_argnames": "zz"}, ValueError, "invalid argnames {'zz'} in donate"),
    "static position": ({"static_argnums": 5}, ValueError, r"static_argnums=\(5,\), but only"),
    "donated position": ({"donate_argnums": 7}, ValueError, r"donate_argnums=\(7,\), but only"),
    "no position": ({"static_argnums": "a"}, TypeError, "must be integers .* got 'a'"),
    "no name": ({"static_argnames": 3}, TypeError, "must be strings .* got 3"),
    "both": ({"static_argnums": 0, "donate_argnums": 0}, ValueError, "cannot intersect"),
    "both by name": ({"static_argnames": "x", "donate_argnums": 0}, ValueError, "cannot inters"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments(name):
    options, cls, message = WRONG[name]
    with pytest.raises(cls, match=message):
        effax.jit(lambda x: x, **options)


def test_inline_leaves_no_call():
    def program(inline):
        f = effax.jit(lambda x: jnp.sin(x) * 2, inline=inline)
        return str(effax.make_jaxpr(lambda x: f(x) + 1)(1.0)), effax.grad(f)(0.0), f(0.0)

    assert "call[" not in program(True)[0] and "sin" in program(True)[0]
    assert "call[" in program(False)[0]
    assert program(True)[1:] == program(False)[1:]


def test_donation_by_name():
    def f(x, y):
        return x + y

    for options in ({"donate_argnums": 1}, {"donate_argnames": "y"}, {"donate_argnames": ["y"]}):
        x, y = jnp.ones(8), jnp.ones(8)
        effax.jit(f, **options)(x, y)
        assert y.is_deleted() and not x.is_deleted()
        y = jnp.ones(8)
        effax.jit(f, **options)(x, y=y)
        assert y.is_deleted() and not x.is_deleted()


def test_options_belong_to_the_outermost_jit():
    g = effax.jit(jnp.exp, compiler_options={"xla_cpu_enable_fast_math": True})
    assert float(g(0.0)) == 1
    for transform in (effax.jit, effax.grad):
        with pytest.raises(ValueError, match="can only be passed to top-level"):
            transform(lambda x: g(x))(1.0)
    with pytest.raises(effax.errors.JaxRuntimeError, match="No such compile option"):
        effax.jit(jnp.exp, compiler_options={"nope": True})(1.0)


def test_the_same_function_shares_what_was_traced():
    traced = []

    def f(x, n):
        traced.append(n)
        return x * n

    for _ in range(3):
        assert float(effax.jit(f, static_argnums=1)(1.0, 2)) == 2
    assert traced == [2]
    effax.jit(f)(1.0, 2)
    assert len(traced) == 2, "other options are another function"


def test_caches_can_be_cleared():
    traced = []

    @effax.jit
    def f(x):
        traced.append(x.shape)
        return x + 1

    assert f._cache_size() == 0
    f(1.0), f(2.0), f(np.ones(2))
    assert f._cache_size() == len(traced) == 2
    f.clear_cache()
    assert f._cache_size() == 0
    f(1.0)
    assert len(traced) == 3
    effax.clear_caches()
    f(1.0)
    assert len(traced) == 4 and f._cache_size() == 1


def test_shardings_name_one_device():
    from effax.backends.xla.placement import single

    here = single(effax.devices()[0])
    f = effax.jit(lambda x: x + 1, in_shardings=(here,), out_shardings=here)
    assert f(1.0).committed and f(1.0).sharding is here
    assert not effax.jit(lambda x: x + 1, in_shardings=None, out_shardings=None)(1.0).committed
    with pytest.raises(TypeError, match="in_shardings leaf specifications"):
        effax.jit(lambda x: x, in_shardings=3)


def test_eval_shape_and_no_tracing():
    f = effax.jit(lambda x: {"a": x[None]})
    assert f.eval_shape(effax.ShapeDtypeStruct((2,), "int32"))["a"].shape == (1, 2)
    f(1.0)
    with effax.no_tracing():
        f(2.0)
        with pytest.raises(RuntimeError, match="no_tracing"):
            f(2)


def _by_position(a, /, b, *args, **keywords):
    return a


@pytest.mark.parametrize("option", ["static_argnames", "donate_argnames"])
def test_names_that_no_argument_can_be_passed_by(option):
    for name in ("a", "args"):
        with pytest.raises(ValueError, match="Function does not take these args"):
            effax.jit(_by_position, **{option: name})
    for name in ("b", "anything"):
        effax.jit(_by_position, **{option: name})


def test_a_function_that_cannot_show_itself():
    class Shy:
        def __call__(self, x):
            return x

        def __repr__(self):
            raise ValueError("no text")

    assert "<Shy instance at" in repr(effax.jit(Shy()))
    assert repr(effax.jit(len)) == "<PjitFunction of <built-in function len>>", "by JAX's name"


@pytest.mark.parametrize(
    "options",
    [
        {"exec_time_optimization_effort": 0.0},
        {"optimization_level": 1},
        {"memory_fitting_level": 1, "xla_backend_optimization_level": 1},
    ],
)
def test_efforts_and_levels_of_the_compiler(options):
    assert float(effax.jit(lambda x: jnp.sqrt(x) + 1.0, compiler_options=options)(4.0)) == 3.0


def test_zeros_of_dtype_float0_are_arguments():
    """In the same place as an array of NumPy's, before and after it."""
    zero = np.zeros((2,), effax.dtypes.float0)
    f = effax.jit(lambda x: x)
    assert f(zero).dtype == effax.dtypes.float0
    assert f(np.ones(2, np.float32)).tolist() == [1.0, 1.0]
    assert f(zero).shape == (2,)
    found = effax.jit(effax.vjp(lambda x, y: x + y, 2, 1)[1])(np.zeros((), effax.dtypes.float0))
    assert [x.dtype for x in found] == [effax.dtypes.float0] * 2


def test_a_dead_value_is_named_as_such():
    kept = []
    effax.jit(lambda x: kept.append(x) or x)(1.0)
    with pytest.raises(effax.errors.UnexpectedTracerError, match="escaped its transform"):
        effax.jit(lambda x: x)(kept[0])


def test_an_overflow_names_its_argument_in_every_call():
    f = effax.jit(lambda x, y: x + y["z"])
    for _ in range(3):
        with pytest.raises(OverflowError, match=r"argument path is y\['z'\]"):
            f(1, {"z": 2**31})
        assert f(1, {"z": 2}) == 3


def test_static_arguments_that_refuse_to_be_compared():
    class Aloof:
        def __hash__(self):
            return 1

        def __eq__(self, other):
            raise NotImplementedError("no comparing")

    f = effax.jit(lambda x, y: x + 3, static_argnums=1)
    f(1, Aloof())
    with pytest.raises(ValueError, match="static arguments should be comparable") as caught:
        f(1, Aloof())
    assert isinstance(caught.value.__cause__, NotImplementedError)


def test_results_that_are_no_arrays_are_placed():
    def f(x):
        return 2.0, {"a": f}

    for call in (effax.jit(f), lambda x: effax.eval_shape(f, x)):
        words = r"function f at .*test_jit_arguments.py:\d+ returned a value of type .* at output "
        with pytest.raises(
            TypeError, match=words + r"component \[1\]\['a'\], which is not a valid"
        ):
            call(1)
    program = effax.make_jaxpr(f)
    assert program.__name__ == "make_jaxpr(f)" and program.__module__ == "effax"


def test_a_static_method_is_refused():
    """The jitted function would be bound to instances, and given them."""
    with pytest.raises(TypeError, match="staticmethod arguments are not supported"):
        effax.jit(staticmethod(abs))

    class Right:
        twice = staticmethod(effax.jit(lambda x: 2 * x))

    assert Right().twice(3) == 6
