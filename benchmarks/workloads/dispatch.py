"""Eager operations and calls of compiled functions, on small arrays: only the way there counts."""

from collections.abc import Callable
from typing import Any

from benchmarks.workloads.workload import Call, workload

RUNTIME = (
    "of 4.6 µs jaxlib's execute_sharded and consume_with_handlers take 3.8, making the array 0.13, "
    "and 0.35 all other Python: binding the arguments, looking whether anything is installed, the "
    "settings, the key of specs, two lists, counting the call. JAX's C++ does it all in 4.4, by a "
    "path that keeps its state for the whole process, which is jax's too: it is not taken"
)

# ------------------------------------------------------------------------------ eager operations


def eager(name: str, title: str, target: float, expected: Any, why: str = "", **peers: Any):
    """Enters an eager operation: `write(jax, jnp)` builds the call that is timed."""

    def register(write: Callable[[Any, Any], Call]):
        @workload(title, target, why=why, name=f"eager_{name}", **peers)
        def make(jax, jnp, np):
            call = write(jax, jnp)
            np.testing.assert_allclose(call(), expected, rtol=1e-6)
            return call

        return make

    return register


@eager("add", "eager x + y, float32[3]", 0.7, [1, 2, 3])
def eager_add(jax, jnp):
    x, y = jnp.arange(3.0), jnp.ones(3)
    return lambda: x + y


@eager("scale", "eager x * 2.0, float32[3]", 1.0, [0, 2, 4])
def eager_scale(jax, jnp):
    x = jnp.arange(3.0)
    return lambda: x * 2.0


@eager("sin", "eager jnp.sin(x), float32[3]", 1.0, [0, 0.84147098, 0.90929743], RUNTIME)
def eager_sin(jax, jnp):
    x = jnp.arange(3.0)
    return lambda: jnp.sin(x)


@eager("where", "eager jnp.where(c, x, y), float32[3]", 1.0, [0, 1, -1])
def eager_where(jax, jnp):
    x, y = jnp.arange(3.0), -jnp.ones(3)
    c = x < 1.5
    return lambda: jnp.where(c, x, y)


@eager("concatenate", "eager jnp.concatenate([x, y]), float32[3]", 1.0, [0, 1, 2, 1, 1, 1])
def eager_concatenate(jax, jnp):
    x, y = jnp.arange(3.0), jnp.ones(3)
    return lambda: jnp.concatenate([x, y])


@eager("relu", "eager jax.nn.relu(x), float32[3]", 1.0, [0, 0, 1])
def eager_relu(jax, jnp):
    x = jnp.arange(3.0) - 1
    return lambda: jax.nn.relu(x)


@eager("index_first", "eager x[0], float32[3]", 0.2, 5)
def eager_index_first(jax, jnp):
    x = jnp.arange(3.0) + 5
    return lambda: x[0]


@eager("index", "eager x[1], float32[3]", 0.2, 6)
def eager_index(jax, jnp):
    x = jnp.arange(3.0) + 5
    return lambda: x[1]


@eager("slice", "eager x[1:3], float32[3]", 0.2, [1, 2])
def eager_slice(jax, jnp):
    x = jnp.arange(3.0)
    return lambda: x[1:3]


@eager("index_pair", "eager x[1, 2], float32[2, 3]", 0.2, 5)
def eager_index_pair(jax, jnp):
    x = jnp.arange(6.0).reshape(2, 3)
    return lambda: x[1, 2]


@eager("at_set", "eager x.at[1].set(7.0), float32[3]", 0.2, [0, 7, 2])
def eager_at_set(jax, jnp):
    x = jnp.arange(3.0)
    return lambda: x.at[1].set(7.0)


@eager(
    "reshape",
    "eager x.reshape(2, 3), float32[6]",
    0.2,
    [[0, 1, 2], [3, 4, 5]],
    why="running the executable is 3.2 µs, 0.2 of JAX's 16; results that share the memory of the "
    "operand would take 0.3 µs, but giving one away (donation) would delete the other",
)
def eager_reshape(jax, jnp):
    x = jnp.arange(6.0)
    return lambda: x.reshape(2, 3)


@eager("zeros", "eager jnp.zeros((2, 3))", 0.2, [[0] * 3] * 2)
def eager_zeros(jax, jnp):
    return lambda: jnp.zeros((2, 3))


@eager("ones", "eager jnp.ones(3, jnp.int32)", 0.2, [1, 1, 1])
def eager_ones(jax, jnp):
    return lambda: jnp.ones(3, jnp.int32)


@eager("einsum", 'eager jnp.einsum("ij,jk->ik", x, y), float32[2, 2]', 0.2, [[1, 1], [5, 5]])
def eager_einsum(jax, jnp):
    x, y = jnp.arange(4.0).reshape(2, 2), jnp.ones((2, 2))
    return lambda: jnp.einsum("ij,jk->ik", x, y)


@workload("eager jax.random.split(key)", 0.2)
def eager_split(jax, jnp, np):
    key = jax.random.PRNGKey(0)
    first = [[1797259609, 2579123966], [928981903, 3453687069]]
    np.testing.assert_array_equal(jax.random.split(key), first)
    return lambda: jax.random.split(key)


@eager(
    "list",
    "eager list(x), float32[10]",
    1.0,
    range(10),
    why="an executable for each element, 10 us, of which the runtime takes 9; JAX's one executable "
    "has as many results as elements, and takes 2.4 s to compile at 100 (here 0.02): see the "
    "first list(x) of a length",
)
def eager_list(jax, jnp):
    x = jnp.arange(10.0)
    return lambda: list(x)


@eager("unpack", "eager a, b, c = x, float32[3]", 1.0, 2)
def eager_unpack(jax, jnp):
    x = jnp.arange(3.0)

    def call():
        _, _, c = x
        return c

    return call


@eager("linspace", "eager jnp.linspace(0, 1, 5)", 1.0, [0, 0.25, 0.5, 0.75, 1])
def eager_linspace(jax, jnp):
    return lambda: jnp.linspace(0, 1, 5)


@eager(
    "stop_gradient",
    "eager lax.stop_gradient(x), float32[3]",
    1.0,
    [0, 1, 2],
)
def eager_stop_gradient(jax, jnp):
    x = jnp.arange(3.0)
    return lambda: jax.lax.stop_gradient(x)


@eager("take", "eager jnp.take(x, i), float32[3]", 1.0, [2, 0])
def eager_take(jax, jnp):
    x, i = jnp.arange(3.0), jnp.array([2, 0])
    return lambda: jnp.take(x, i)


@eager(
    "take_along",
    "eager jnp.take_along_axis(x, i, 0), float32[3]",
    1.0,
    [2, 0],
    why="of 5.9 µs the launch takes 3.9; 1.9 find it, by two specs and an axis",
)
def eager_take_along(jax, jnp):
    x, i = jnp.arange(3.0), jnp.array([2, 0])
    return lambda: jnp.take_along_axis(x, i, 0)


@workload(
    "eager jnp.polyfit(x, y, 1), float32[10]",
    1.0,
    why="one launch, whose key is found in 6 us; LAPACK's decomposition is most of the rest",
)
def eager_polyfit(jax, jnp, np):
    x = jnp.arange(10.0)
    np.testing.assert_allclose(jnp.polyfit(x, 2 * x + 1, 1), [2, 1], rtol=1e-4)
    y = 2 * x + 1
    return lambda: jnp.polyfit(x, y, 1)


@workload("eager random.truncated_normal(key, -1, 1, (3,))", 1.0)
def eager_truncated_normal(jax, jnp, np):
    key = jax.random.PRNGKey(0)
    assert np.all(np.abs(jax.random.truncated_normal(key, -1.0, 1.0, (3,))) < 1)
    return lambda: jax.random.truncated_normal(key, -1.0, 1.0, (3,))


@workload("eager vmap of random.normal over 10 keys", 1.0)
def eager_vmap_normal(jax, jnp, np):
    keys = jax.random.split(jax.random.PRNGKey(0), 10)
    np.testing.assert_array_equal(jax.vmap(jax.random.normal)(keys)[3], jax.random.normal(keys[3]))
    return lambda: jax.vmap(jax.random.normal)(keys)


@workload("eager jnp.zeros of 4 MB", 1.0)
def eager_zeros_large(jax, jnp, np):
    np.testing.assert_array_equal(jnp.zeros((1000, 1000))[0], np.zeros(1000))
    return lambda: jnp.zeros((1000, 1000))


# ------------------------------------------------- eager control flow, with functions new each time


@eager("scan", "eager lax.scan of a new function, 10 steps", 0.2, 45)
def eager_scan(jax, jnp):
    x = jnp.arange(10.0)
    return lambda: jax.lax.scan(lambda c, a: (c + a, None), 0.0, x)[0]


@eager("cond", "eager lax.cond of new functions", 0.2, 2)
def eager_cond(jax, jnp):
    x, truth = jnp.float32(1.0), jnp.array(True)
    return lambda: jax.lax.cond(truth, lambda a: a + 1, lambda a: a - 1, x)


@eager("fori", "eager lax.fori_loop of a new function, 10 steps", 0.2, 1024)
def eager_fori(jax, jnp):
    x = jnp.float32(1.0)
    return lambda: jax.lax.fori_loop(0, 10, lambda i, a: a * 2, x)


# ------------------------------------------------------------------- calls of compiled functions


def cached_call(jax, jnp, np, count: int) -> Call:
    total = jax.jit(lambda *args: sum(args[1:], args[0]))
    args = [jnp.full(3, float(i)) for i in range(count)]
    np.testing.assert_array_equal(total(*args), np.full(3, sum(range(count))))
    return lambda: total(*args)


@workload("cached jit call, 1 argument", 1.0, why=RUNTIME)
def jit_call_1(jax, jnp, np):
    return cached_call(jax, jnp, np, 1)


@workload("cached jit call, 2 arguments", 1.0, why=RUNTIME)
def jit_call_2(jax, jnp, np):
    return cached_call(jax, jnp, np, 2)


@workload(
    "a call of what lower().compile() gave, 1 argument",
    1.0,
    why="the array is checked to fit and to lie where it should, by Python, 5 us; the rest is the "
    "runtime's launch, as of any call",
)
def compiled_call(jax, jnp, np):
    x = jnp.arange(3.0)
    double = jax.jit(lambda x: x * 2).lower(x).compile()
    np.testing.assert_array_equal(double(x), [0, 2, 4])
    return lambda: double(x)


@workload("cached jit call, 10 arguments", 1.0)
def jit_call_10(jax, jnp, np):
    return cached_call(jax, jnp, np, 10)


@workload("cached jit call, 100 arguments", 1.0)
def jit_call_100(jax, jnp, np):
    return cached_call(jax, jnp, np, 100)


@workload("cached jit call, 1000 arguments", 1.0)
def jit_call_1000(jax, jnp, np):
    return cached_call(jax, jnp, np, 1000)


@workload(
    "cached jit call, a dict of 10 arrays",
    1.0,
    why="of 18.8 µs the runtime takes 14.8 (JAX: 18.2 in all), the key of keys and specs with the "
    "buffers 1.2, wrapping 10 results 1.3, their dict 0.4, and freeing those again the most of the "
    "rest",
)
def jit_call_dict(jax, jnp, np):
    double = jax.jit(lambda tree: {k: v * 2 for k, v in tree.items()})
    tree = {f"w{i}": jnp.full(3, float(i)) for i in range(10)}
    np.testing.assert_array_equal(double(tree)["w7"], [14, 14, 14])
    return lambda: double(tree)["w0"]


@workload(
    "cached jit call, 200 arrays in 100 dicts in a list",
    1.0,
    why="of 330 µs the runtime takes 228, jaxlib's flatten and unflatten 30 (both as in JAX); 22 go "
    "to wrapping 200 results and 10 to freeing them, 10 to collecting specs and buffers, 15 to "
    "finding the key, of which jaxlib's hash and comparison of trees 6",
)
def jit_call_nested(jax, jnp, np):
    double = jax.jit(lambda layers: [{k: v * 2 for k, v in p.items()} for p in layers])
    layers = [{"w": jnp.full(3, float(i)), "b": jnp.full(3, -float(i))} for i in range(100)]
    np.testing.assert_array_equal(double(layers)[7]["b"], [-14, -14, -14])
    return lambda: double(layers)[0]["w"]


@workload("cached jit call, an array and a static argument", 1.0, why=RUNTIME)
def jit_call_static(jax, jnp, np):
    power = jax.jit(lambda x, n: x**n, static_argnums=1)
    x = jnp.arange(3.0)
    np.testing.assert_array_equal(power(x, 3), [0, 1, 8])
    return lambda: power(x, 3)


@workload(
    "cached jit call, an array and a static argument by name",
    1.0,
    why=RUNTIME + "; binding an argument by its name takes 0.1 more",
)
def jit_call_static_name(jax, jnp, np):
    power = jax.jit(lambda x, n: x**n, static_argnames="n")
    x = jnp.arange(3.0)
    np.testing.assert_array_equal(power(x, n=3), [0, 1, 8])
    return lambda: power(x, n=3)


@workload("cached jit call, a donated argument and another", 1.0, why=RUNTIME)
def jit_call_donated(jax, jnp, np):
    step = jax.jit(lambda state, x: state + x, donate_argnums=0)
    state, x = jnp.zeros(3), jnp.ones(3)
    given = state
    state = step(state, x)
    np.testing.assert_array_equal(state, [1, 1, 1])
    assert given.is_deleted()

    def call():
        nonlocal state
        state = step(state, x)
        return state

    return call


@workload(
    "cached jit call, 2 arrays of NumPy's",
    1.0,
    why="of 12.8 µs two calls of batched_device_put, jaxlib's way in for host memory, take 5.7 with "
    "one array each, running 3.9, both together 10.2; 0.3 an array go to finding its type by dtype "
    "and shape. JAX's C++ puts an argument in 1.9, and no function of jaxlib 0.10 does that for "
    "others (0.11 has shard_args)",
)
def jit_call_numpy(jax, jnp, np):
    add = jax.jit(lambda x, y: x + y)
    x, y = np.arange(3, dtype="f4"), np.ones(3, "f4")
    np.testing.assert_array_equal(add(x, y), [1, 2, 3])
    return lambda: add(x, y)


@workload(
    "cached jit call, an array and a Python number",
    1.0,
    why=RUNTIME + "; finding the number's buffer by its value takes 0.6 more",
)
def jit_call_number(jax, jnp, np):
    scale = jax.jit(lambda x, a: x * a)
    x = jnp.arange(3.0)
    np.testing.assert_array_equal(scale(x, 2.0), [0, 2, 4])
    return lambda: scale(x, 2.0)


@workload(
    "cached jit call, an array and keywords",
    1.0,
    why=RUNTIME + "; binding arguments by their names takes 0.1 each",
)
def jit_call_keywords(jax, jnp, np):
    scale = jax.jit(lambda x, *, a, b: x * a + b)
    x = jnp.arange(3.0)
    np.testing.assert_array_equal(scale(x, a=x, b=x), [0, 2, 6])
    return lambda: scale(x, a=x, b=x)
