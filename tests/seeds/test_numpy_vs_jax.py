"""Seed 000, "JAX (DeviceArray)": every program of the document, only its import line changed.

Sizes of 8000 × 8000 become 800 × 800. What JAX itself has dropped since the document was written
(`jax.ops.index_add`, `jnp.alltrue`) must answer with an error that says what to write instead.
"""

import time

import numpy as np
import pytest

import effax as jax
import effax.numpy as jnp
from effax import random

MATRIX = """\
[[ 0  0  0  0  0  0  0  0  0  0]
 [ 0  1  2  3  4  5  6  7  8  9]
 [ 0  2  4  6  8 10 12 14 16 18]
 [ 0  3  6  9 12 15 18 21 24 27]
 [ 0  4  8 12 16 20 24 28 32 36]
 [ 0  5 10 15 20 25 30 35 40 45]
 [ 0  6 12 18 24 30 36 42 48 54]
 [ 0  7 14 21 28 35 42 49 56 63]
 [ 0  8 16 24 32 40 48 56 64 72]
 [ 0  9 18 27 36 45 54 63 72 81]]
"""


def test_two_arrays(capsys):
    array_numpy = np.arange(10, dtype=np.int32)
    array_jax = jnp.arange(10, dtype=jnp.int32)

    print("Array created using numpy: ", array_numpy)
    print("Array created using JAX: ", array_jax)
    print(f"array_numpy is of type : {type(array_numpy)}")
    print(f"array_jax is of type : {type(array_jax)}")

    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Array created using numpy:  [0 1 2 3 4 5 6 7 8 9]"
    assert lines[1] == "Array created using JAX:  [0 1 2 3 4 5 6 7 8 9]"
    assert lines[2] == "array_numpy is of type : <class 'numpy.ndarray'>"
    assert lines[3].startswith("array_jax is of type : <class '")
    assert not isinstance(array_jax, np.ndarray)
    assert isinstance(array_jax, jax.Array)
    assert array_jax.dtype == np.int32
    assert random.key is jax.random.key


def test_numpy_operations(capsys):
    array_numpy = np.arange(10, dtype=np.int32)
    array_jax = jnp.arange(10, dtype=jnp.int32)

    print(f"Maximum element in DeviceArray: {array_jax.max()}")
    print("Original shape of DeviceArray: ", array_jax.shape)

    array_numpy = array_numpy.reshape(-1, 1)
    array_jax = array_jax.reshape(-1, 1)
    print("New shape of DeviceArray: ", array_jax.shape)

    assert capsys.readouterr().out.splitlines() == [
        "Maximum element in DeviceArray: 9",
        "Original shape of DeviceArray:  (10,)",
        "New shape of DeviceArray:  (10, 1)",
    ]

    print(np.abs(array_numpy - array_numpy.T))
    pairwise_numpy = capsys.readouterr().out
    print(jnp.abs(array_jax - array_jax.T))
    assert capsys.readouterr().out == pairwise_numpy

    print(jnp.all(np.abs(array_numpy - array_numpy.T) == jnp.abs(array_jax - array_jax.T)))
    assert capsys.readouterr().out == "True\n"

    print(np.dot(array_numpy, array_numpy.T))
    assert capsys.readouterr().out == MATRIX
    print(jnp.dot(array_jax, array_jax.T))
    assert capsys.readouterr().out == MATRIX


def test_alltrue_names_its_successor():
    with pytest.raises(AttributeError, match=r"jnp\.all|numpy\.all"):
        print(jnp.alltrue(jnp.arange(3) == jnp.arange(3)))


def test_immutability(capsys):
    array1 = np.arange(5, dtype=np.int32)
    array2 = jnp.arange(5, dtype=jnp.int32)
    print("Original DeviceArray: ", array2)

    array1[4] = 10
    print("Modified ndarray: ", array1)
    try:
        array2[4] = 10
        print("Modified DeviceArray: ", array2)
    except Exception as ex:
        print(type(ex).__name__, ex)

    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Original DeviceArray:  [0 1 2 3 4]"
    assert lines[1] == "Modified ndarray:  [ 0  1  2  3 10]"
    assert lines[2].startswith("TypeError ")
    assert ".at[" in "\n".join(lines[2:])
    assert array2.tolist() == [0, 1, 2, 3, 4]


def test_indexed_updates(capsys):
    array2 = jnp.arange(5, dtype=jnp.int32)
    array2_modified = array2.at[4].set(10)

    print("Original DeviceArray: ", array2)
    print("Modified DeviceArray: ", array2_modified)
    print(array2.at[4].add(6))
    print(array2.at[4].max(20))
    print(array2.at[4].min(-1))

    assert capsys.readouterr().out.splitlines() == [
        "Original DeviceArray:  [0 1 2 3 4]",
        "Modified DeviceArray:  [ 0  1  2  3 10]",
        "[ 0  1  2  3 10]",
        "[ 0  1  2  3 20]",
        "[ 0  1  2  3 -1]",
    ]
    assert array2_modified.dtype == np.int32


@pytest.mark.parametrize(
    ("name", "successor"),
    [("index_add", "add"), ("index_max", "max"), ("index_min", "min"), ("index_update", "set")],
)
def test_index_operations_name_their_successor(name, successor):
    array2 = jnp.arange(5, dtype=jnp.int32)
    with pytest.raises((AttributeError, NotImplementedError), match=rf"\.at\[.*\]\.{successor}"):
        print(getattr(jax.ops, name)(array2, 4, 6))


def test_asynchronous_dispatch(capsys):
    array1 = np.random.uniform(size=(800, 800)).astype(np.float32)
    array2 = jax.random.uniform(jax.random.PRNGKey(0), (800, 800), dtype=jnp.float32)
    print("Shape of ndarray: ", array1.shape)
    print("Shape of DeviceArray: ", array2.shape)

    start_time = time.time()
    res = np.dot(array1, array1)
    print(f"Time taken by dot product op on ndarrays: {time.time() - start_time:.2f} seconds")

    start_time = time.time()
    res = jnp.dot(array2, array2)
    print(f"Time taken by dot product op on DeviceArrays: {time.time() - start_time:.2f} seconds")

    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["Shape of ndarray:  (800, 800)", "Shape of DeviceArray:  (800, 800)"]
    assert res.shape == (800, 800)  # known without waiting
    assert res.block_until_ready() is res
    drawn = np.asarray(array2, np.float64)
    assert 0 <= drawn.min() < drawn.max() < 1
    np.testing.assert_allclose(res, drawn @ drawn, rtol=1e-5)


def test_type_promotion(capsys):
    print("Types promtoion in JAX =>", end=" ")
    print((jnp.int8(32) + 4).dtype)

    array1 = np.random.randint(5, size=(2), dtype=np.int32)
    print("Implicit numpy casting gives: ", (array1 + 5.0).dtype)

    array2 = jax.random.randint(
        jax.random.PRNGKey(0), minval=0, maxval=5, shape=[2], dtype=jnp.int32
    )
    print("Implicit JAX casting gives: ", (array2 + 5.0).dtype)

    assert capsys.readouterr().out.splitlines() == [
        "Types promtoion in JAX => int8",
        "Implicit numpy casting gives:  float64",
        "Implicit JAX casting gives:  float32",
    ]
    assert set(array2.tolist()) <= set(range(5))


def test_automatic_differentiation(capsys):
    def squared(x):
        return x**2

    x = 4.0
    y = squared(x)

    dydx = jax.grad(squared)
    print("First order gradients of y wrt x: ", dydx(x))
    print("Second order gradients of y wrt x: ", jax.grad(dydx)(x))

    assert y == 16.0
    assert capsys.readouterr().out.splitlines() == [
        "First order gradients of y wrt x:  8.0",
        "Second order gradients of y wrt x:  2.0",
    ]
