"""Processes that do not run the same programs, in a way that is asked for."""

import sys
import time

import numpy as np

import effax
import effax.numpy as jnp
from effax.sharding import Mesh, NamedSharding
from effax.sharding import PartitionSpec as P

how = sys.argv[1]
effax.distributed.initialize(initialization_timeout=5)
here = effax.process_index()
mesh = Mesh(np.array(effax.devices()), ("d",))
x = effax.device_put(np.arange(8.0, dtype=np.float32), NamedSharding(mesh, P("d")))
effax.jit(lambda x: x + 1)(x)
start = time.time()


@effax.jit
def first(x):
    return (x * 3).sum()


@effax.jit
def second(x):
    return (x * 3 + 1).sum()


try:
    if how == "other constant":
        step = effax.jit(lambda x: (x * (2.0 + here)).sum(), out_shardings=NamedSharding(mesh, P()))
        step(x)
    if how == "other order":
        [first, second][here](x)
        [second, first][here](x)
    if how == "other data":
        effax.jit(jnp.sum)(
            effax.make_array_from_process_local_data(
                NamedSharding(mesh, P("d")), np.ones(4 + 2 * here, np.float32)
            )
        )
    if how == "other order later":
        for f in (first, second, first, second, [first, second][here], [second, first][here]):
            f(x).block_until_ready()
        if sys.argv[2:]:
            time.sleep(10)
    if how == "one alone" and here == 0:
        # Without communication a process may do as it likes.
        effax.jit(lambda x: x * 7)(x).block_until_ready()
        assert (x + 3).addressable_data(0)[0] == 3
    if how == "one stays away" and here == 0:
        first(x)
    if how == "one stays away" and here == 1:
        time.sleep(7)
except effax.errors.EffaxError as error:
    print(f"{time.time() - start:.1f} s {type(error).__name__}: {error}")
    raise
