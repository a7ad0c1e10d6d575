"""Unknown lengths: what is known of expressions of them, and `eval_shape` of shapes with them."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import export
from effax.errors import InconclusiveDimensionOperation, SymbolicShapeError
from effax.export import SymbolicScope, symbolic_shape


def struct(*shape, dtype="float32"):
    return effax.ShapeDtypeStruct(shape, dtype)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("b", "b"),
        ("2*b + 1 - 1", "2*b"),
        ("b*b - b*3", "b^2 - 3*b"),
        ("-b + 4", "- b + 4"),
        ("2*b^3 - b", "2*b^3 - b"),
        ("(4*b + 2) // 2", "2*b + 1"),
        ("(b + 1) // 2", "floordiv(b + 1, 2)"),
        ("b % 2 + mod(b, 3)", "mod(b, 3) + mod(b, 2)"),
        ("max(b, 4)", "max(b, 4)"),
    ],
)
def test_expressions(text, printed):
    (length,) = symbolic_shape(text)
    assert str(length) == printed
    assert export.is_symbolic_dim(length)
    names = {"mod": lambda a, b: a % b, "max": max}
    for b in (1, 7, 12):
        assert length.value({"b": b}) == eval(text.replace("^", "**"), names, {"b": b})


def test_constants_are_integers():
    a, b = symbolic_shape("a, b")
    assert (a - a, (a + 2) - a, 3 * b // 3 == b, (4 * a) % 2) == (0, 2, True, 0)
    assert symbolic_shape("max(2, 3), 2*3") == (3, 6)
    assert {a, b, a + 0} == {a, b}
    assert a != b and a + b == b + a and a * b - b * a == 0 and a != 3


def test_what_is_not_known_is_not_decided():
    a, _ = symbolic_shape("a, b")
    with pytest.raises(
        InconclusiveDimensionOperation, match="comparison 'a' > '3' is inconclusive"
    ):
        a > 3  # noqa: B015
    with pytest.raises(InconclusiveDimensionOperation, match="the length a is known only when"):
        int(a)
    with pytest.raises(SymbolicShapeError, match="the length a is known only when"):
        range(a)
    with pytest.raises(ValueError, match="different scopes"):
        a + symbolic_shape("a")[0]
    with pytest.raises(ZeroDivisionError):
        a // 0
    with pytest.raises(TypeError):
        a + "x"


@pytest.mark.parametrize("constraint", ["b > 2", "b", "b >=", "2 <= b <= 4"])
def test_constraints_that_are_none(constraint):
    with pytest.raises(ValueError, match="must compare two lengths by >=, <= or =="):
        SymbolicScope([constraint])


def test_scopes_and_constraints():
    with pytest.raises(ValueError, match="should be a sequence of strings"):
        SymbolicScope("b >= 2")
    scope = SymbolicScope(["2*a >= b", "mod(b, 8) == 0", "a <= 9"])
    assert scope.allows({"a": 8, "b": 16})
    assert not scope.allows({"a": 7, "b": 16})
    assert scope.allows({"b": 8})  # nothing is said of b alone but this
    assert not scope.allows({"b": 9})
    a, b = symbolic_shape("a, b", scope=scope)
    seen = []

    def f(x):
        seen.append(x.shape)
        return x.reshape(x.shape[0], 8, -1)

    effax.eval_shape(f, struct(a, b))
    assert len(seen) >= 2
    assert all(scope.allows({"a": m, "b": n}) for m, n in seen)
    with pytest.raises(ValueError, match="Cannot specify both"):
        symbolic_shape("a", scope=scope, constraints=["a >= 2"])
    for constraint in ("c >= 1000", "c <= 3"):
        (c,) = symbolic_shape("c", constraints=[constraint])
        assert effax.eval_shape(jnp.sin, struct(c)).shape == (c,)
    (c,) = symbolic_shape("c", constraints=["mod(c, 1009) == 7"])
    with pytest.raises(SymbolicShapeError, match="too few lengths"):
        effax.eval_shape(jnp.sin, struct(c))


@pytest.mark.parametrize(
    ("function", "shapes", "expected"),
    [
        (jnp.sin, ["b, 3"], "(b, 3)"),
        (lambda x: jnp.concatenate([x, x, x[:2]]), ["b, 3"], "(2*b + 2, 3)"),
        (lambda x: x.reshape(-1), ["b, n, 2"], "(2*b*n,)"),
        (lambda x: x.T @ x, ["b, 3"], "(3, 3)"),
        (lambda x, y: jnp.einsum("bi,ij->bj", x, y), ["b, n", "n, 2*m"], "(b, 2*m)"),
        (lambda x: jnp.outer(x, x), ["b"], "(b, b)"),
        (lambda x: x[1:], ["floordiv(n, 2)"], None),
        (lambda x: jnp.outer(x, x).ravel(), ["b"], "(b^2,)"),
        (effax.vmap(lambda x: x.sum()), ["b, n"], "(b,)"),
        (effax.grad(lambda x: (x * x).sum()), ["b, n"], "(b, n)"),
    ],
)
def test_lengths_of_results(function, shapes, expected):
    scope = SymbolicScope()
    args = [struct(*symbolic_shape(s, scope=scope)) for s in shapes]
    found = effax.eval_shape(function, *args)
    if expected is not None:
        assert str(found.shape) == expected
    else:
        assert export.is_symbolic_dim(found.shape[0])


def test_a_length_that_is_no_polynomial_is_an_unknown_of_its_own():
    (b,) = symbolic_shape("b")
    x, y = effax.eval_shape(lambda x: (x[::2], x[::2]), struct(b))
    assert export.is_symbolic_dim(x.shape[0])
    assert x.shape != y.shape  # nobody says that they are the same
    assert x.shape == x.shape
    with pytest.raises(SymbolicShapeError):
        x.shape[0].value({"b": 5})


def test_results_that_differ_in_more_than_lengths_are_refused():
    (b,) = symbolic_shape("b")
    with pytest.raises(SymbolicShapeError, match="the tree of the results"):
        effax.eval_shape(lambda x: [x] * (x.shape[0] % 10), struct(b))
    with pytest.raises(SymbolicShapeError, match="a result is"):
        effax.eval_shape(lambda x: x.reshape((1,) * (x.shape[0] % 10) + (-1,)), struct(b))


def test_trees_and_values_beside_unknown_lengths():
    (b,) = symbolic_shape("b", constraints=["b>=2"])
    found = effax.eval_shape(
        lambda x, n, *, y: {"z": x["a"] * n, "y": y}, {"a": struct(b, 2)}, 3, y=np.ones(4, "int8")
    )
    assert found["z"].shape == (b, 2)
    assert (found["y"].shape, found["y"].dtype) == ((4,), np.int8)
    specs = export.symbolic_args_specs((np.ones((2, 3)), np.ones(2)), "n, ...")
    assert specs[0].shape[0] == specs[1].shape[0]
    assert specs[0].shape[1] == 3
