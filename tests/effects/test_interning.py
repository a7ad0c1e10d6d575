"""Interned objects: one for each key while it is held, and none for long when it is not."""

import gc
import threading

import pytest

import effax
import effax.numpy as jnp
from effax.backends.xla import placement
from effax.backends.xla.placement import Spec
from effax.effects import types
from effax.effects.handler import Bottom, bottom
from effax.effects.interning import LIMIT, Interned
from effax.effects.rows import state
from effax.effects.rows.state import AbstractRef
from effax.effects.types import ShapedArray

MANY = 3 * LIMIT


class Part:
    pass


def test_tables_of_types_and_specs_stay_bounded():
    x = jnp.ones((3, 12345))
    type, spec, ref = x.type, x.spec, AbstractRef(x.type)
    varying = type.vary(frozenset({"i"}))
    for i in range(MANY):
        made = ShapedArray((i, 7), "float32")
        Spec(made, spec.placement)
        AbstractRef(made.vary(frozenset({"i"})))
    gc.collect()
    for table in (types._types, types._on_meshes, placement._specs, state._types):
        assert len(table.recent) <= LIMIT
        assert len(table) <= 2 * LIMIT  # the recent ones, and those that others hold
    assert ShapedArray((3, 12345), "float32") is type
    assert type.vary(frozenset({"i"})) is varying
    assert Spec(type, spec.placement, spec.committed) is spec
    assert AbstractRef(type) is ref


def test_threads_make_one_object_of_a_key():
    table = Interned[int, Part](limit=7)
    found, start = [[] for _ in range(4)], threading.Barrier(4)

    def ask(mine):
        start.wait()
        mine += [table.find(i % 100, Part) for i in range(5000)]

    threads = [threading.Thread(target=ask, args=(mine,)) for mine in found]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for i in range(100):
        assert len({id(x) for mine in found for x in mine[i::100]}) == 1


def test_a_cleared_table_makes_other_objects():
    table = Interned[int, Part]()
    before = table.find(1, Part)
    table.clear()
    assert len(table) == 0
    assert table.find(1, Part) is not before


def test_all_that_the_kernel_is_given_is_set_at_start():
    assert effax.numpy is jnp  # which starts it
    given = [name for name in Bottom.__slots__ if name != "__weakref__"]
    assert [name for name in given if not hasattr(bottom, name)] == []
    with pytest.raises(AttributeError):
        bottom.other = 1
