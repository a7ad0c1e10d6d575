"""Programs and figures that are compared with JAX's, without the chips' compilers."""

from tests.accelerators import ratios
from tests.accelerators.public import programs
from tests.accelerators.worker import COMPILED, REFUSED, Result


def result(name="f", word=COMPILED, flops=0.0, moved=0.0, chip="H200"):
    return Result("nn", name, "value", chip, word, "", flops, moved, 0)


def test_every_program_was_compiled_by_jax_or_refused():
    names = {(x.family, x.name) for x in programs()}
    assert len(names) == len(programs())
    assert {key[:2] for key in ratios.recorded()} == names


def test_figures_above_the_bar():
    theirs = {x.key: x for x in (result("f", flops=1e6, moved=1e6), result("g", flops=1e6))}
    ours = [result("f", flops=1.5e6, moved=1.01e6), result("g", flops=1e6 + 4000), result("h")]
    (found,) = ratios.excesses(ours, theirs)
    assert (found.result.name, found.figure, found.ratio) == ("f", "flops", 1.5)


def test_programs_that_jax_compiles_alone():
    theirs = {x.key: x for x in (result("f"), result("g", REFUSED))}
    ours = [result("f", REFUSED), result("g", REFUSED), result("h", REFUSED)]
    assert ratios.behind(ours, theirs) == ours[:1]


def test_the_table():
    theirs = {x.key: x for x in (result("f", flops=1e6), result("g", REFUSED))}
    *_, line = ratios.rows([result("f", flops=2e6), result("g")], theirs)
    assert line == "| nn | H200 | 2 | 2 (1) | 2 (1) | 2.00, 2.00 | 1.00, 1.00 | 1.00, 1.00 |"


def test_a_reason_is_found_by_the_program():
    found = ratios.Excess(result("jnp.isin(a, b)", chip="TPU v5e"), "bytes", 8.0, 1.0)
    assert "binary search" in found.reason
    assert ratios.Excess(result("unheard of"), "bytes", 8.0, 1.0).reason == ""
