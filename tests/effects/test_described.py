"""`help` of an effect shows what is written beneath its name."""

import pydoc

from effax import effects
from effax.effects.effect import Effect

plain = Effect("described_plainly", family="described", typing=lambda x: x)
"""`plain(x)`: x, for a test."""


def test_an_effect_shows_what_is_written_beneath_its_name():
    assert effects.integer_pow.__doc__.startswith("`integer_pow(x, y=n)`")
    assert "known beforehand" in pydoc.render_doc(effects.integer_pow)
    assert plain.__doc__ == "`plain(x)`: x, for a test."


def test_the_class_and_nameless_effects_show_the_class():
    assert Effect.__doc__.startswith("A named operation")
    assert (
        Effect("described_nowhere", family="described", typing=lambda x: x).__doc__
        == Effect.__doc__
    )
