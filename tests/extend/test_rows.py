"""Effects that a program leaves to be answered: typed, with lines, before anything is compiled."""

import pytest

import effax as fx
import effax.lax as lax
import effax.numpy as jnp
from effax import extend
from effax.errors import UnhandledEffectError
from effax.experimental import checkify

draw = extend.Effect(
    "rows_draw",
    family="test",
    typing=lambda x, *, n: extend.ShapedArray((n, *x.shape), x.dtype),
    row="rows_draw",
)
ask = extend.Effect(
    "rows_ask", family="test", typing=lambda: extend.ShapedArray((), "int32"), row="rows_ask"
)


class Drawing(fx.Interpreter):
    key: fx.State = 0


@Drawing.rule(draw)
def zeros(x, *, n, state):
    return jnp.zeros((n, *x.shape), x.dtype)


def program_of(f, *args):
    return fx.make_program(f)(*args)


def inside(x):
    def step(c, _):
        return c + jnp.sum(draw(c, n=3)), None

    return lax.scan(step, x, None, length=2)[0] + lax.cond(x > 0, ask, lambda: jnp.int32(0))


def test_a_row_has_types_and_lines():
    row = program_of(fx.jit(inside), 1.0).row
    assert row == {"rows_draw", "rows_ask"}
    first, second = row.asked
    assert (first.name, first.effect, first.signature) == (
        "rows_draw",
        draw,
        "rows_draw(f32[]) -> f32[3]",
    )
    assert second.signature == "rows_ask() -> i32[]"
    assert "test_rows.py:" in first.place
    assert "(inside.<locals>.step)" in first.place
    assert repr(row).startswith("{rows_draw: rows_draw(f32[]) -> f32[3] at ")
    assert program_of(jnp.sin, 1.0).row == frozenset()
    assert program_of(jnp.sin, 1.0).row.asked == ()


def test_handlers_say_what_they_answer_and_what_they_leave():
    row = program_of(inside, 1.0).row
    assert Drawing.answered() == {"rows_draw"}
    left = row - Drawing.answered()
    assert left == {"rows_ask"}
    assert [one.effect for one in left.asked] == [ask]
    assert program_of(Drawing.transform(inside), 1.0).row == left
    assert not left - {"rows_ask"}


def test_each_question_is_listed_once_for_its_types_and_line():
    def f(x):
        for _ in range(3):
            x = jnp.sum(draw(x, n=2))
        return x + jnp.sum(draw(jnp.stack([x, x]), n=2))

    row = program_of(f, 1.0).row
    assert [one.signature for one in row.asked] == [
        "rows_draw(f32[]) -> f32[2]",
        "rows_draw(f32[2]) -> f32[2,2]",
    ]


def summed(x):
    return lax.psum(x, "i")


def staged_in_a_batch():
    """The program of `summed`, staged where the axis is bound."""
    found = []

    def look(x):
        found.append(extend.stage(lambda x: [summed(x)], [extend.typeof(x)]).program)
        return x

    fx.vmap(look, axis_name="i")(jnp.ones(2))
    return found[0]


def test_bound_axes_are_not_asked_for():
    (one,) = staged_in_a_batch().row.asked
    assert (one.name, one.effect) == ("axis i", fx.effects.psum)
    bound = program_of(fx.vmap(fx.jit(summed), axis_name="i"), jnp.ones(2))
    assert not bound.row
    assert not bound.row.asked


def test_unbound_axes_are_named_with_their_line():
    program = staged_in_a_batch()
    with pytest.raises(NameError, match=r"unbound axis name: i.*test_rows\.py"):
        fx.jit(lambda x: program.run(x)[0])(1.0)


@pytest.mark.parametrize("run", [lambda f: fx.jit(f)(1.0), lambda f: fx.jit(f).lower(1.0)])
def test_what_is_left_is_named_with_line_and_handler_before_it_is_compiled(run):
    line = draws_once.__code__.co_firstlineno + 1
    with pytest.raises(UnhandledEffectError) as info:
        run(draws_once)
    said = str(info.value)
    assert "rows_draw(f32[]) -> f32[3] at " in said
    assert f"test_rows.py:{line} (draws_once)" in said
    assert "wrap it in Drawing.transform first" in said
    with pytest.raises(UnhandledEffectError, match=r"check\(bool\[\]\) -> \(\) at .*checkify"):
        run(checks_once)


def draws_once(x):
    return draw(x, n=3)


def checks_once(x):
    checkify.check(x > 0, "small")
    return x


def test_rows_are_sets():
    row = program_of(draws_once, 1.0).row
    assert row | {"x"} == {"rows_draw", "x"}
    assert {row: 1}[frozenset({"rows_draw"})] == 1
