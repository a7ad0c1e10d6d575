"""Arguments that were accepted, and changed nothing or the wrong thing."""

from typing import Any

import numpy as np
import pytest

import effax
import effax.lax as lax
import effax.nn as nn
import effax.numpy as jnp
import effax.scipy.linalg
from effax import random
from effax.experimental import io_callback
from effax.sharding import NamedSharding, PartitionSpec, SingleDeviceSharding


@pytest.mark.parametrize("places", [[1, 3], (1, 3), [], [True, False, True, False, False]])
def test_delete_takes_sequences(places: Any) -> None:
    assert jnp.delete(jnp.arange(5), places).tolist() == np.delete(np.arange(5), places).tolist()


def test_delete_takes_sequences_with_traced_positions() -> None:
    deleted = effax.jit(lambda i: jnp.delete(jnp.arange(5), [i, 3], assume_unique_indices=True))
    assert deleted(1).tolist() == [0, 2, 4]


@pytest.mark.parametrize("places", [1.5, [1.5], True, [True, False, True]])
def test_positions_to_insert_at_are_integers(places: Any) -> None:
    """1.5 was 1, and a mask was a vector of zeros and ones."""
    for insert in (jnp.insert, effax.jit(jnp.insert)):
        with pytest.raises(ValueError, match="insert: positions must be integers, got"):
            insert(jnp.arange(3), jnp.asarray(places), 9)


@pytest.mark.parametrize("places", [1.5, True, [True, False, True]])
def test_traced_positions_to_delete_are_integers(places: Any) -> None:
    delete = effax.jit(lambda x, i: jnp.delete(x, i, assume_unique_indices=True))
    with pytest.raises(effax.errors.ConcretizationTypeError, match=r"delete: .* must be integers"):
        delete(jnp.arange(3), jnp.asarray(places))


def test_pbroadcast_keeps_booleans_and_knows_its_places() -> None:
    def sent(source: int) -> Any:
        return effax.vmap(lambda x: lax.pbroadcast(x, "i", source), axis_name="i")

    assert sent(1)(jnp.array([False, True])).tolist() == [True, True]
    assert sent(1)(jnp.array([False, True])).dtype == bool
    for source in (2, -1):
        with pytest.raises(ValueError, match=f"one of the 2 places along 'i', got {source}"):
            sent(source)(jnp.arange(2))


@pytest.mark.parametrize("shape", [(), (3,)])
def test_weibull_numbers_are_as_many_as_asked_for(shape: tuple[int, ...]) -> None:
    """One draw served all of the parameters that did not fit the shape."""
    key = random.key(0)
    with pytest.raises(ValueError, match="weibull_min: the parameters must broadcast to shape="):
        random.weibull_min(key, jnp.ones((2, 3)), 1.0, shape)
    assert len({*random.weibull_min(key, jnp.ones(3), 1.0, (50, 3)).ravel().tolist()}) > 100


@pytest.mark.parametrize("callback", [effax.pure_callback, io_callback])
def test_callbacks_are_called_in_this_process(callback: Any) -> None:
    here = SingleDeviceSharding(effax.devices()[0])
    wanted = effax.ShapeDtypeStruct((), "float32")
    assert callback(lambda x: x, wanted, jnp.float32(3), sharding=here) == 3
    mesh = effax.make_mesh((1,), ("i",))
    for other in (NamedSharding(mesh, PartitionSpec("i")), "cpu"):
        with pytest.raises(NotImplementedError, match="sharding must be None, or the SingleDevice"):
            callback(lambda x: x, wanted, jnp.float32(3), sharding=other)


def test_device_put_takes_trees_of_what_may_be_shared() -> None:
    x, y = jnp.arange(3), jnp.arange(4)
    shared, copied = effax.device_put((x, y), may_alias=(True, False))
    assert shared.unsafe_buffer_pointer() == x.unsafe_buffer_pointer()
    assert copied.unsafe_buffer_pointer() != y.unsafe_buffer_pointer()
    effax.device_put((x, y), donate=(True, False), may_alias=(False, True))
    with pytest.raises(ValueError, match="may_alias and donate cannot be True at the same time"):
        effax.device_put((x, y), donate=(True, False), may_alias=True)
    with pytest.raises(ValueError, match="device_put donate specification must be a tree prefix"):
        effax.device_put((x, y), donate=(True, False, True))


def test_checkpoint_takes_a_bool_for_each_argument() -> None:
    def f(x: Any, y: Any) -> Any:
        return jnp.sin(x["a"]) * y

    wanted = effax.grad(f)({"a": 2.0}, 3.0)
    for given in ((True, False), [{"a": True}, False], False):
        assert effax.grad(effax.checkpoint(f, prevent_cse=given))({"a": 2.0}, 3.0) == wanted
    with pytest.raises(ValueError, match="prefix"):
        effax.checkpoint(f, prevent_cse=(True, False, True))({"a": 2.0}, 3.0)
    with pytest.raises(TypeError, match="prevent_cse must be a bool, or a sequence of them, got 1"):
        effax.checkpoint(f, prevent_cse=1)  # type: ignore[arg-type]


def test_scaled_products_know_their_implementations() -> None:
    dims = (((1,), (1,)), ((), ()))
    with pytest.raises(ValueError, match="implementation must be None or 'cudnn', got 'xla'"):
        nn.scaled_dot_general(jnp.eye(2), jnp.eye(2), dims, implementation="xla")


def test_copies_have_the_orders_that_arrays_have() -> None:
    assert jnp.copy(jnp.arange(2), "C").tolist() == [0, 1]
    with pytest.raises(NotImplementedError, match="order='F' is not supported"):
        jnp.copy(jnp.arange(2), "F")


def test_einsum_calls_the_product_that_it_is_given() -> None:
    asked: list[Any] = []

    def pair(lhs: Any, rhs: Any, numbers: Any, precision: Any, **how: Any) -> Any:
        asked.append((numbers, how))
        return 10 * lax.dot_general(lhs, rhs, numbers, precision, **how)

    x = jnp.arange(4.0).reshape(2, 2)
    for text, count in (("ij,jk->ik", 1), ("i,j->ji", 1), ("ij,ij->ij", 1), ("ij,jk,kl->il", 2)):
        del asked[:]
        operands = [x[0] if len(t) == 1 else x for t in text.split("->")[0].split(",")]
        wanted = 10**count * np.einsum(text, *map(np.asarray, operands))
        assert jnp.einsum(text, *operands, _dot_general=pair).tolist() == wanted.tolist()
        assert len(asked) == count
        assert asked[0][1] == {"preferred_element_type": np.dtype("float32")}


def test_truth_values_go_to_a_device_too() -> None:
    with pytest.raises(RuntimeError, match="Unknown backend nonsense"):
        jnp.astype(jnp.ones(2), bool, device="nonsense")
    here = effax.devices()[0]
    assert jnp.astype(jnp.ones(2), bool, device=here).committed


def test_names_of_ways_are_known_ones_where_all_ways_agree() -> None:
    with pytest.raises(ValueError, match="lapack_driver must be 'gesdd' or 'gesvd', got 'x'"):
        effax.scipy.linalg.svd(jnp.eye(2), lapack_driver="x")
    with pytest.raises(ValueError, match="valid mode for gumbel got: x"):
        random.choice(random.key(0), 3, mode="x")
    found = effax.scipy.linalg.svd(jnp.eye(2), compute_uv=False, lapack_driver="gesvd")
    assert found.tolist() == [1, 1]
