"""Facts spread through programs in both directions, and through the programs inside them."""

import numpy as np
import pytest

import effax as fx
import effax.lax as lax
import effax.numpy as jnp
from effax.extend import Propagation, UndeterminedError, Variable, effects


class Value(Propagation):
    """The value of each variable, if it is known."""

    def initial(self, x):
        return None if isinstance(x, Variable) else jnp.full(x.type.shape, x.value, x.type.dtype)

    def merge(self, old, new):
        return new if old is None else old

    def leaves(self, fact):
        return None if fact is None else (fact,)

    def fact(self, leaves):
        return leaves[0]

    def visit(self, e):
        operands = [self.look(x) for x in e.inputs]
        if any(x is None for x in operands):
            return super().visit(e)
        ys = fx.tree.leaves(e.effect(*operands, **e.attributes))
        return list(zip(e.outputs, ys, strict=True))


@Value.rule(effects.add)
def values_of_sum(self, e):
    (x, y), z = map(self.look, e.inputs), self.look(e.outputs[0])
    if z is not None and y is not None:
        yield e.inputs[0], z - y
    elif z is not None and x is not None:
        yield e.inputs[1], z - x


def solve(f, given, results, *like):
    program = fx.make_program(f)(*like)
    return [np.asarray(x) for (x,) in Value(program, given, results).answer()]


def test_both_directions():
    assert solve(lambda x, y: x + y, [None, 2.0], [jnp.float32(5.0)], 1.0, 1.0) == [3.0, 2.0]
    assert solve(lambda x, y: (x + 1.0, x + y), [None, None], [3.0, 7.0], 1.0, 1.0) == [2.0, 5.0]


@pytest.mark.parametrize("wrap", [fx.jit, fx.checkpoint])
def test_calls(wrap):
    assert solve(wrap(lambda x: x + 2.0), [None], [jnp.float32(5.0)], 1.0) == [3.0]


def test_branches():
    def f(i, x):
        return lax.switch(i, [lambda x: x + 1.0, lambda x: x + 2.0], x)

    assert solve(f, [jnp.int32(1), None], [jnp.float32(5.0)], 1, 1.0)[1] == 3.0
    with pytest.raises(UndeterminedError, match=r"'cond' at .*test_propagate"):
        solve(f, [None, None], [jnp.float32(5.0)], 1, 1.0)


def test_loops():
    rows = jnp.arange(3.0)

    def total(c, xs):
        return lax.scan(lambda c, x: (c + x, c + x), c, xs)

    sums = jnp.array([5.0, 6.0, 8.0])
    back = solve(total, [None, rows], [jnp.float32(8.0), None], 1.0, rows)
    assert back[0] == 5.0
    ahead = solve(total, [jnp.float32(5.0), None], [None, sums], 1.0, rows)
    np.testing.assert_array_equal(ahead[1], [0.0, 1.0, 2.0])

    def counted(x):  # the counter is known at the first step, x at the last one
        return lax.fori_loop(0, 3, lambda i, x: x + jnp.float32(i), x)

    assert solve(counted, [None], [jnp.float32(8.0)], 1.0) == [5.0]


def test_what_does_not_follow():
    with pytest.raises(UndeterminedError, match=r"'mul' at .*test_propagate"):
        solve(lambda x: x * 2.0, [None], [jnp.float32(5.0)], 1.0)
    with pytest.raises(UndeterminedError, match="do not depend"):
        solve(lambda x, y: y, [None, None], [jnp.float32(5.0)], 1.0, 1.0)


def test_rules_are_inherited_not_shared():
    class More(Value):
        pass

    @More.rule(effects.neg)
    def values_of_negative(self, e):
        if self.look(e.outputs[0]) is not None:
            yield e.inputs[0], -self.look(e.outputs[0])

    program = fx.make_program(lambda x: -(x + 1.0))(1.0)
    assert More(program, [None], [jnp.float32(-3.0)]).answer() == [(2.0,)]
    assert effects.neg not in Value.rules
