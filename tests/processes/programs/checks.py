"""Every kind of operation over the devices of several processes; one line for each check.

The same program in every process: `python -m effax.distributed run -n 2 --devices 2 checks.py`.
"""

import hashlib
import sys
import time
import traceback

import numpy as np

import effax
import effax.numpy as jnp
from effax import lax
from effax.api.placing.global_arrays import process_part
from effax.experimental import multihost_utils
from effax.sharding import Mesh, NamedSharding
from effax.sharding import PartitionSpec as P

effax.distributed.initialize(initialization_timeout=60)
HERE, COUNT, LOCAL = effax.process_index(), effax.process_count(), effax.local_device_count()
N = effax.device_count()
MESH = Mesh(np.array(effax.devices()), ("d",))
GRID = Mesh(np.array(effax.devices()).reshape(COUNT, LOCAL), ("p", "l"))
ROWS, ALL = NamedSharding(MESH, P("d")), NamedSharding(MESH, P())
WHOLE = np.arange(8 * N * 4, dtype=np.float32).reshape(8 * N, 4)
X = effax.device_put(WHOLE, ROWS)
CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


def same(x, whole):
    """The pieces that this process has are those of the whole."""
    whole = np.asarray(whole)
    assert x.shape == whole.shape, (x.shape, whole.shape)
    assert x.addressable_shards
    for shard in x.addressable_shards:
        np.testing.assert_array_equal(np.asarray(shard.data), whole[shard.index])


def refused(kind, words, function):
    try:
        function()
    except kind as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"not refused: {words}")


@check
def device_put():
    assert len(X.addressable_shards) == LOCAL and len(X.global_shards) == N
    assert [s.data is None for s in X.global_shards].count(True) == N - LOCAL
    same(X, WHOLE)
    assert not X.is_fully_addressable and not X.is_fully_replicated
    same(effax.device_put(jnp.asarray(WHOLE), ROWS), WHOLE)
    same(effax.device_put(jnp.asarray(WHOLE), ALL), WHOLE)


@check
def jit_with_out_shardings():
    y = effax.jit(lambda x: x.sum(), out_shardings=ALL)(X)
    assert float(y) == WHOLE.sum()


@check
def eager_operations():
    same(X * 2 + 1, WHOLE * 2 + 1)
    same(jnp.sin(X), np.asarray(jnp.sin(jnp.asarray(WHOLE))))
    same(X + jnp.arange(4.0), WHOLE + np.arange(4, dtype=np.float32))
    same(jnp.where(X > 3, X, 0.0), np.where(WHOLE > 3, WHOLE, 0))
    same(X[: 2 * N], WHOLE[: 2 * N])
    same(X.T @ X, WHOLE.T @ WHOLE)
    same(jnp.concatenate([X, X]), np.concatenate([WHOLE, WHOLE]))


@check
def eager_reductions():
    assert float(X.sum()) == WHOLE.sum()
    assert int(X.argmax()) == WHOLE.size - 1
    assert float(jnp.linalg.norm(X)) > 0


@check
def gradients_and_batches():
    g = effax.grad(lambda x: (x**2).sum())(X)
    same(g, 2 * WHOLE)
    same(effax.vmap(lambda row: row * row.sum())(X), WHOLE * WHOLE.sum(1, keepdims=True))


@check
def shard_map_psum():
    f = effax.jit(
        effax.shard_map(lambda x: lax.psum(x.sum(), "d"), mesh=MESH, in_specs=P("d"), out_specs=P())
    )
    assert float(f(X)) == WHOLE.sum()


@check
def all_collectives():
    def f(x):
        i = lax.axis_index("d")
        return (
            lax.all_gather(x, "d").sum()[None],
            lax.psum_scatter(jnp.ones(N) * i, "d", tiled=True),
            lax.ppermute(x, "d", [(k, (k + 1) % N) for k in range(N)]),
            lax.all_to_all(jnp.arange(float(N)) + 100 * i, "d", 0, 0, tiled=True),
            lax.pmax(x.sum(), "d")[None],
        )

    mapped = effax.shard_map(f, mesh=MESH, in_specs=P("d"), out_specs=P("d"), check_vma=False)
    total, scattered, turned, exchanged, largest = effax.jit(mapped)(X)
    same(total, np.full(N, WHOLE.sum()))
    same(scattered, np.full(N, N * (N - 1) / 2, np.float32))
    same(turned, np.roll(WHOLE, 8, axis=0))
    same(exchanged, (np.arange(N)[:, None] + 100 * np.arange(N)).astype(np.float32).ravel())
    same(largest, np.full(N, WHOLE[-8:].sum()))


@check
def make_array_from_callback():
    asked = []

    def piece(index):
        asked.append(index)
        return WHOLE[index]

    same(effax.make_array_from_callback(WHOLE.shape, ROWS, piece), WHOLE)
    assert len(asked) == LOCAL, asked
    keys = effax.random.split(effax.random.key(0), N)
    key = effax.random.key(0).dtype
    made = effax.make_array_from_callback((N,), ROWS, lambda i: keys[i], dtype=key)
    same(effax.random.key_data(made), effax.random.key_data(keys))
    first = NamedSharding(Mesh(np.array(effax.local_devices()[:1]), "d"), P())
    theirs = [d for d in effax.devices() if d.process_index != HERE][:1]
    there = NamedSharding(Mesh(np.array(theirs), "d"), P())
    assert effax.make_array_from_callback((2,), first, lambda i: np.ones(2)).tolist() == [1, 1]
    y = effax.make_array_from_callback((2,), there, lambda i: 1 / 0, dtype=np.float32)
    assert y.shape == (2,) and not y.addressable_shards
    refused(ValueError, "pass dtype", lambda: effax.make_array_from_callback((2,), there, None))


@check
def make_array_from_process_local_data():
    mine = WHOLE[HERE * 8 * LOCAL : (HERE + 1) * 8 * LOCAL]
    same(effax.make_array_from_process_local_data(ROWS, mine), WHOLE)
    same(effax.make_array_from_process_local_data(ROWS, mine, WHOLE.shape), WHOLE)
    same(effax.make_array_from_process_local_data(ROWS, WHOLE, WHOLE.shape), WHOLE)
    tree = effax.make_array_from_process_local_data(ROWS, {"a": mine, "b": mine + 1})
    same(tree["b"], WHOLE + 1)
    across = NamedSharding(GRID, P("l", "p"))
    columns = np.arange(2 * LOCAL * 3 * COUNT).reshape(2 * LOCAL, 3 * COUNT)
    own = columns[:, 3 * HERE : 3 * HERE + 3]
    same(effax.make_array_from_process_local_data(across, own), columns)
    same(effax.make_array_from_process_local_data(NamedSharding(GRID, P("l")), columns), columns)
    refused(
        ValueError,
        "axis 0 of local_data must have the length",
        lambda: effax.make_array_from_process_local_data(ROWS, mine[:3], WHOLE.shape),
    )


@check
def parts_of_processes():
    assert process_part(ROWS, 0, 2) == (HERE, COUNT)
    assert process_part(ROWS, 1, 2) == (0, 1)
    across = NamedSharding(GRID, P("l", "p"))
    assert process_part(across, 0, 2) == (0, 1)
    assert process_part(across, 1, 2) == (HERE, COUNT)


@check
def make_array_from_single_device_arrays():
    pieces = [effax.device_put(WHOLE[s.index], s.device) for s in X.addressable_shards]
    make = effax.make_array_from_single_device_arrays
    same(make(WHOLE.shape, ROWS, pieces[::-1]), WHOLE)
    refused(ValueError, f"Expected {LOCAL}", lambda: make(WHOLE.shape, ROWS, pieces * 2))


@check
def replicas_are_counted_over_all_processes():
    y = effax.device_put(WHOLE, NamedSharding(GRID, P("l")))
    assert {shard.replica_id for shard in y.addressable_shards} == {HERE}
    assert sorted(s.replica_id for s in y.global_shards) == sorted([*range(COUNT)] * LOCAL)


@check
def printing():
    assert repr(X) == str(X) == f"{X}" == f"Array(shape={X.shape}, dtype=float32)"
    y = effax.device_put(np.arange(2.0, dtype=np.float32), ALL)
    assert repr(y) == "Array([0., 1.], dtype=float32)" and str(y) == "[0. 1.]"


@check
def contents_are_refused_by_name():
    refused(RuntimeError, "process_allgather(x, tiled=True)", lambda: np.asarray(X))
    first = effax.local_devices()[0]
    refused(ValueError, "the same set of devices", lambda: effax.device_put(X, first))
    last = effax.devices()[-1]
    if HERE != COUNT - 1:
        y = effax.device_put(jnp.ones(2), first)
        refused(ValueError, "does not support cross-host", lambda: effax.device_put(y, last))
    y = effax.device_put(effax.device_put(WHOLE, ALL), first)
    np.testing.assert_array_equal(np.asarray(y), WHOLE)


@check
def contents_that_are_all_here():
    y = effax.device_put(WHOLE, NamedSharding(GRID, P("l")))
    assert (not y.is_fully_addressable and not y.is_fully_replicated) or LOCAL == 1
    np.testing.assert_array_equal(np.asarray(y), WHOLE)


@check
def different_values_are_refused():
    refused(
        AssertionError,
        "passed to device_put is not the same on each process",
        lambda: effax.device_put(np.float32(HERE), ALL),
    )
    x = effax.device_put({"a": np.float32(np.nan), "b": jnp.ones(2)}, ALL)
    assert x["b"].is_fully_replicated


@check
def local_mesh():
    assert MESH.local_mesh.flat == tuple(effax.local_devices())
    assert GRID.local_mesh.shape == {"p": 1, "l": LOCAL}
    if LOCAL > 1:
        order = np.array(effax.devices()).reshape(COUNT, LOCAL).T.ravel()
        refused(ValueError, "do not form a box", lambda: Mesh(order, ("d",)).local_mesh)


@check
def resharding():
    np.testing.assert_array_equal(np.asarray(effax.device_put(X, ALL)), WHOLE)
    same(effax.device_put(X, NamedSharding(MESH, P(None, None))), WHOLE)
    if 4 % N == 0:
        same(effax.device_put(X, NamedSharding(MESH, P(None, "d"))), WHOLE)
    turned = Mesh(np.array(effax.devices()).reshape(COUNT, LOCAL).T, ("l", "p"))
    for spec in (P("l", "p"), P("p"), P(("l", "p")), P()) if 4 % COUNT == 0 else ():
        y = effax.device_put(X, NamedSharding(turned, spec))
        same(y, WHOLE)
        same(effax.device_put(y, ROWS), WHOLE)
    odd = Mesh(np.random.default_rng(0).permutation(np.array(effax.devices())), ("d",))
    same(effax.device_put(X, NamedSharding(odd, P("d"))), WHOLE)


@check
def process_allgather():
    gathered = multihost_utils.process_allgather(np.float64(HERE + 1e-12))
    assert gathered.dtype == np.float64
    np.testing.assert_array_equal(gathered, np.arange(COUNT) + 1e-12)
    tree = multihost_utils.process_allgather({"a": jnp.arange(2) + HERE, "b": HERE}, tiled=True)
    np.testing.assert_array_equal(tree["a"], (np.arange(2) + np.arange(COUNT)[:, None]).ravel())
    np.testing.assert_array_equal(tree["b"], np.arange(COUNT))
    np.testing.assert_array_equal(multihost_utils.process_allgather(X, tiled=True), WHOLE)
    refused(ValueError, "tiled=True", lambda: multihost_utils.process_allgather(X))


@check
def broadcast_one_to_all():
    value = {"x": np.float32([-0.0, np.nan, HERE]), "step": np.int64(HERE + 2**40), "on": HERE == 0}
    found = multihost_utils.broadcast_one_to_all(value)
    assert found["step"] == 2**40 and found["on"] and np.signbit(found["x"][0])
    assert np.isnan(found["x"][1]) and found["x"][2] == 0
    last = multihost_utils.broadcast_one_to_all(HERE, is_source=HERE == COUNT - 1)
    assert int(last) == COUNT - 1


@check
def sync_global_devices():
    start = time.time()
    time.sleep(0.3 if HERE == COUNT - 1 else 0)
    multihost_utils.sync_global_devices("x")
    assert time.time() - start >= 0.25
    refused(
        AssertionError,
        "name mismatch",
        lambda: multihost_utils.sync_global_devices(f"process {HERE}"),
    )


@check
def assert_equal():
    multihost_utils.assert_equal({"a": 1, "b": [np.float32(np.nan), X]} if COUNT == 0 else {"a": 1})
    multihost_utils.assert_equal({"nan": np.nan, "zero": -0.0 if HERE else 0.0})
    refused(
        AssertionError,
        "broken. Processes have different values: process 0 of",
        lambda: multihost_utils.assert_equal({"a": 1, "b": HERE}, "broken"),
    )


@check
def host_local_and_global():
    mine = WHOLE[HERE * 8 * LOCAL : (HERE + 1) * 8 * LOCAL]
    there = multihost_utils.host_local_array_to_global_array({"a": mine}, MESH, P("d"))
    same(there["a"], WHOLE)
    back = multihost_utils.global_array_to_host_local_array(there, MESH, P("d"))
    np.testing.assert_array_equal(np.asarray(back["a"]), mine)
    whole = multihost_utils.host_local_array_to_global_array(WHOLE, MESH, P())
    same(whole, WHOLE)


@check
def live_devices():
    with multihost_utils.live_devices(effax.devices()) as alive:
        assert alive == effax.devices()


@check
def local_computations():
    assert float((jnp.ones(3) * (HERE + 1)).sum()) == 3 * (HERE + 1)
    assert effax.local_devices()[0] in jnp.ones(3).devices()


@check
def local_and_global_values():
    y = effax.jit(lambda x, s: (x * s).sum())(X, jnp.float32(2))
    assert float(y) == 2 * WHOLE.sum()
    same(effax.jit(lambda x, s: x + s)(X, np.float32(1)), WHOLE + 1)


@check
def debug_print():
    effax.jit(lambda x: (effax.debug.print("the sum is {}", x.sum()), x * 2)[1])(X)
    effax.effects_barrier()


@check
def random_numbers():
    key = effax.random.key(0)
    alone = effax.random.normal(key, (8 * N,))
    spread = effax.jit(lambda k: effax.random.normal(k, (8 * N,)), out_shardings=ROWS)(key)
    for shard in spread.addressable_shards:
        np.testing.assert_allclose(
            np.asarray(shard.data), np.asarray(alone)[shard.index], rtol=1e-5
        )
    digest = hashlib.sha256(np.asarray(alone).tobytes()).hexdigest()
    multihost_utils.assert_equal(int(digest[:8], 16), "random numbers differ")
    keys = effax.device_put(effax.random.split(key, N), ROWS)
    assert keys.shape == (N,)
    same(effax.random.key_data(keys), effax.random.key_data(effax.random.split(key, N)))


@check
def training_step_of_cut_parameters():
    random = np.random.default_rng(0)
    weights = [
        random.standard_normal((64, 8 * N)).astype("f4") * 0.1,
        random.standard_normal((8 * N, 64)).astype("f4") * 0.1,
    ]
    data = random.standard_normal((16 * N, 64)).astype("f4")

    def loss(ws, x):
        return jnp.mean((jnp.tanh(x @ ws[0]) @ ws[1] - x) ** 2)

    def update(ws, x):
        value, slopes = effax.value_and_grad(loss)(ws, x)
        return value, [w - 0.1 * d for w, d in zip(ws, slopes, strict=True)]

    cut = [NamedSharding(MESH, P(None, "d")), NamedSharding(MESH, P("d", None))]
    step = effax.jit(update, out_shardings=(ALL, cut), donate_argnums=0)
    ws = [effax.device_put(w, s) for w, s in zip(weights, cut, strict=True)]
    x = effax.device_put(data, ROWS)
    alone = [jnp.asarray(w) for w in weights]
    for _ in range(5):
        value, ws = step(ws, x)
        expected, alone = effax.jit(update)(alone, jnp.asarray(data))
        np.testing.assert_allclose(float(value), float(expected), rtol=1e-5)


@check
def many_collectives_in_a_row():
    f = effax.jit(
        effax.shard_map(lambda x: lax.psum(x, "d"), mesh=MESH, in_specs=P("d"), out_specs=P())
    )
    y = effax.device_put(np.ones((N, 4), np.float32), ROWS)
    for _ in range(200):
        r = f(y)
    np.testing.assert_array_equal(np.asarray(r), np.full((1, 4), N))


@check
def pmap_over_processes_is_refused():
    ones = jnp.ones((LOCAL, 2))
    if LOCAL > 1:
        same_here = effax.pmap(lambda x: x * 2)(ones)
        np.testing.assert_array_equal(np.asarray(same_here), 2 * np.ones((LOCAL, 2)))
        refused(
            NotImplementedError,
            "shard_map",
            lambda: effax.pmap(lambda x: lax.psum(x, "i"), axis_name="i")(ones),
        )


failed = 0
for function in CHECKS:
    if len(sys.argv) > 1 and function.__name__ not in sys.argv[1:]:
        continue
    start = time.time()
    try:
        function()
        print(f"ok {function.__name__} {time.time() - start:.2f} s")
    except Exception:
        failed += 1
        print(f"failed {function.__name__}")
        traceback.print_exc(file=sys.stdout)
print(f"{failed} failed")
sys.exit(bool(failed))
