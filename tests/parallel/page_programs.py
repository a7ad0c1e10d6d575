"""The programs of JAX's pages on sharding, in our words, for effax and for JAX; what each does.

They are those of "Distributed arrays and automatic parallelization" and of "Manual parallelism with
shard_map" (which that on several processes shares). Run with JAX 0.10.2 in place of effax, this file
records the collectives of the optimised HLO, and results:

    XLA_FLAGS=--xla_force_host_platform_device_count=8 python tests/parallel/page_programs.py \\
        > tests/parallel/page_collectives.json
"""

import re
import sys
from functools import partial
from itertools import pairwise

import numpy as np

COLLECTIVES = re.compile(
    r" (all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute)(?:-start)?\("
)


def record(library, name):
    """The collectives of a program by kind, and the sum and the square sum of its results."""
    mesh, function, arguments = programs(library)[name]
    with library.set_mesh(mesh):
        compiled = library.jit(function).lower(*arguments).compile()
        kinds = COLLECTIVES.findall(compiled.as_text())
        leaves = library.tree.leaves(library.jit(function)(*arguments))
        found = np.concatenate([np.ravel(np.asarray(x, np.float64)) for x in leaves])
    counts = {kind: kinds.count(kind) for kind in sorted(set(kinds))}
    return {"collectives": counts, "sums": [float(found.sum()), float((found**2).sum())]}


def programs(jax):
    """For each program by name: its mesh, a function to be jitted, and its arguments."""
    return {**of_arrays(jax), **of_pieces(jax), **of_networks(jax)}


def laid(jax, mesh, shape, *spec):
    """Numbers that are the same wherever they lie."""
    values = np.sin(np.arange(np.prod(shape), dtype=np.float32)).reshape(shape)
    return jax.device_put(values, jax.NamedSharding(mesh, jax.P(*spec)))


def of_arrays(jax):
    """Types along explicit axes, `out_sharding`, and functions in which the compiler decides."""
    jnp, P, auto = jax.numpy, jax.P, jax.sharding.AxisType.Auto
    mesh = jax.make_mesh((4, 2), ("X", "Y"))
    free = jax.make_mesh((4, 2), ("X", "Y"), (auto, auto))
    put, put_free = partial(laid, jax, mesh), partial(laid, jax, free)
    both, left, right = put((8, 4), "X", "Y"), put((8, 4), None, "X"), put((4, 16), "X", None)
    add = jax.sharding.auto_axes(lambda x, y: x + y)

    def constrained(x, y):
        return jax.lax.with_sharding_constraint(jnp.dot(x, y), P("X", None))

    def renamed(x):
        one = jax.sharding.AbstractMesh((8,), ("A",), (jax.sharding.AxisType.Explicit,))
        with jax.sharding.use_abstract_mesh(one):
            return jax.reshard(x, P("A", None)) * 2

    return {
        "sine and transpose": (mesh, lambda x: jnp.sin(x).T, [both]),
        "outer sum": (mesh, lambda x, y: x + y, [put((4, 1), "X", None), put((1, 8), None, "Y")]),
        "sum over a cut axis": (mesh, lambda x: x.sum(0), [both]),
        "sum of all": (mesh, lambda x: x.sum(), [both]),
        "product, rows": (
            mesh,
            lambda x, y: jnp.dot(x, y, out_sharding=P("X", None)),
            [left, right],
        ),
        "product, whole": (mesh, lambda x, y: jnp.dot(x, y, out_sharding=P()), [left, right]),
        "product, gathered": (mesh, jnp.dot, [put((8, 4)), put((4, 16), "X", None)]),
        "auto_axes": (mesh, lambda x, y: add(x, y, out_sharding=P("X", None)), [both, left]),
        "auto product": (
            free,
            jnp.dot,
            [put_free((8, 4), None, "X"), put_free((4, 16), "X", None)],
        ),
        "constraint": (
            free,
            constrained,
            [put_free((8, 4), None, "X"), put_free((4, 16), "X", None)],
        ),
        "another mesh": (mesh, renamed, [both]),
        "reshard": (mesh, lambda x: jax.reshard(x, P("Y", "X")), [both]),
        "gradient": (
            mesh,
            jax.grad(lambda w, x: jnp.tanh(jnp.dot(x, w)).sum()),
            [put((4, 6)), both],
        ),
        "gradient, cut weights": (
            mesh,
            jax.grad(lambda w, x: jnp.tanh(jnp.dot(x, w, out_sharding=P("X", "Y"))).sum()),
            [put((4, 6), None, "Y"), put((8, 4), "X", None)],
        ),
    }


def of_pieces(jax):
    """Functions of pieces, with each collective, and products that overlap with it."""
    jnp, lax, P = jax.numpy, jax.lax, jax.P
    line = jax.sharding.Mesh(np.array(jax.devices()[:4]), ("i",))
    grid = jax.make_mesh((4, 2), ("i", "j"))
    vector, square = laid(jax, line, (16,), "i"), laid(jax, grid, (12, 12), "i", "j")

    def mapped(f, ins, outs, mesh):
        return jax.shard_map(f, mesh=mesh, in_specs=ins, out_specs=outs)

    def shift(x, step):
        size = lax.axis_size("i")
        return lax.ppermute(x, "i", [(i, (i + step) % size) for i in range(size)])

    def scattered(x):
        """psum_scatter by permutations."""
        size, at = lax.axis_size("i"), lax.axis_index("i")
        x = x.reshape(size, -1)
        for i in range(1, size):
            x = x.at[(at + i + 1) % size].add(shift(x[(at + i) % size], -1))
        return x[at]

    def gathered_product(a, b):
        size, at = lax.axis_size("i"), lax.axis_index("i")
        width = a.shape[1] // size

        def part(i):
            return lax.dynamic_slice_in_dim(a, i * width, width, 1)

        out = part(at) @ b
        for i in range(1, size):
            b = shift(b, 1)
            out += part((at - i) % size) @ b
        return out

    def summed_product(a, b):
        size, at = lax.axis_size("i"), lax.axis_index("i")
        a = a.reshape(size, -1, a.shape[1])
        out = a[(at + 1) % size] @ b
        for i in range(1, size):
            out = shift(out, -1) + a[(at + i + 1) % size] @ b
        return out

    rows, columns, right = P("i", None), P(None, "i"), laid(jax, line, (8, 4), "i", None)
    by_rows, by_columns = laid(jax, line, (8, 8), "i", None), laid(jax, line, (8, 8), None, "i")
    one, all_ = P("i"), P("i", "j")
    whole = partial(mapped, ins=(rows, rows), outs=rows, mesh=line)
    summed = partial(mapped, ins=(columns, rows), outs=rows, mesh=line)
    return {
        "product of blocks": (
            grid,
            mapped(lambda a, b: lax.psum(a @ b, "j"), (all_, P("j", None)), P("i", None), grid),
            [laid(jax, grid, (8, 16), "i", "j"), laid(jax, grid, (16, 4), "j", None)],
        ),
        "psum along j": (grid, mapped(lambda x: lax.psum(x, "j"), all_, rows, grid), [square]),
        "psum along i": (
            grid,
            mapped(lambda x: lax.psum(x, "i"), all_, P(None, "j"), grid),
            [square],
        ),
        "psum along both": (
            grid,
            mapped(lambda x: lax.psum(x, ("i", "j")), all_, P(None, None), grid),
            [square],
        ),
        "psum": (line, mapped(lambda x: lax.psum(x, "i"), one, P(None), line), [vector]),
        "all_gather": (
            line,
            mapped(lambda x: lax.all_gather(x, "i", tiled=True), one, one, line),
            [vector],
        ),
        "all_gather, stacked": (
            line,
            mapped(lambda x: lax.all_gather(x, "i"), one, one, line),
            [vector],
        ),
        "psum_scatter": (
            line,
            mapped(lambda x: lax.psum_scatter(x, "i", tiled=True), one, one, line),
            [vector],
        ),
        "ppermute": (line, mapped(lambda x: shift(x, 1), one, one, line), [vector]),
        "psum_scatter by hand": (line, mapped(scattered, one, one, line), [vector]),
        "all_to_all": (
            line,
            mapped(lambda x: lax.all_to_all(x, "i", 0, 0, tiled=True), one, one, line),
            [vector],
        ),
        "gathered product": (
            line,
            whole(lambda a, b: a @ lax.all_gather(b, "i", tiled=True)),
            [by_rows, right],
        ),
        "gathered product, overlapped": (line, whole(gathered_product), [by_rows, right]),
        "summed product": (
            line,
            summed(lambda a, b: lax.psum_scatter(a @ b, "i", tiled=True)),
            [by_columns, right],
        ),
        "summed product, overlapped": (line, summed(summed_product), [by_columns, right]),
        "inferred specs": (
            grid,
            jax.shard_map(
                lambda a, b: lax.psum_scatter(jnp.dot(a, b), "i", tiled=True), out_specs=rows
            ),
            [laid(jax, grid, (8, 4), None, "i"), laid(jax, grid, (4, 16), "i", None)],
        ),
    }


SIZES = (16, 32, 32, 32, 32, 8)


def of_networks(jax):
    """One network over data, over cut parameters, over features, and over both, with gradients."""
    jnp, lax, P = jax.numpy, jax.lax, jax.P
    line, grid = jax.make_mesh((8,), ("batch",)), jax.make_mesh((4, 2), ("batch", "feats"))

    def layers(mesh, *spec):
        return [
            (laid(jax, mesh, (a, b), *spec), laid(jax, mesh, (b,), *spec))
            for a, b in pairwise(SIZES)
        ]

    def data(mesh, *spec):
        return laid(jax, mesh, (32, SIZES[0]), *spec), laid(jax, mesh, (32, SIZES[-1]), *spec)

    def predict(params, x):
        for w, b in params:
            out = jnp.dot(x, w) + b
            x = jax.nn.relu(out)
        return out

    def error(found, wanted):
        return jnp.mean(jnp.sum((found - wanted) ** 2, axis=-1))

    def plain(params, batch):
        return error(predict(params, batch[0]), batch[1])

    @partial(jax.shard_map, mesh=line, in_specs=(P(), P("batch")), out_specs=P())
    def by_data(params, batch):
        return lax.pmean(plain(params, batch), "batch")

    @partial(jax.remat, policy=lambda op, *_, **__: str(op) != "all_gather")
    def gathering(params, x):
        gather = partial(lax.all_gather, axis_name="batch", tiled=True)
        return predict([(gather(w), gather(b)) for w, b in params], x)

    @partial(jax.shard_map, mesh=line, in_specs=(P("batch"), P("batch")), out_specs=P())
    def by_parameters(params, batch):
        return lax.pmean(error(gathering(params, batch[0]), batch[1]), "batch")

    def by_features(params, batch):
        features = (P(None, "feats"), P("feats", None), P("feats"))
        product = jax.shard_map(
            lambda x, w, b: lax.psum_scatter(x @ w, "feats", scatter_dimension=1, tiled=True) + b,
            mesh=wide,
            in_specs=features,
            out_specs=P(None, "feats"),
        )
        x, wanted = batch
        for w, b in params:
            out = product(x, w, b)
            x = jax.nn.relu(out)
        return error(out, wanted)

    wide = jax.make_mesh((8,), ("feats",))

    @partial(jax.remat, policy=lambda op, *_, **__: str(op) != "all_gather")
    def both_ways(params, x):
        for w, b in params:
            w, b = (lax.all_gather(p, "batch", tiled=True) for p in (w, b))
            out = lax.psum_scatter(x @ w, "feats", scatter_dimension=1, tiled=True) + b
            x = jax.nn.relu(out)
        return out

    specs = (P(("feats", "batch")), P("batch", "feats"))

    @partial(jax.shard_map, mesh=grid, in_specs=specs, out_specs=P())
    def by_both(params, batch):
        squares = jnp.sum((both_ways(params, batch[0]) - batch[1]) ** 2, axis=-1)
        return lax.pmean(jnp.mean(lax.psum(squares, "feats")), "batch")

    cases = {
        "plain": (line, plain, layers(line), data(line, "batch")),
        "data": (line, by_data, layers(line), data(line, "batch")),
        "parameters": (line, by_parameters, layers(line, "batch"), data(line, "batch")),
        "features": (wide, by_features, layers(wide, "feats"), data(wide, None, "feats")),
        "both": (grid, by_both, layers(grid, ("feats", "batch")), data(grid, "batch", "feats")),
    }
    found = {}
    for name, (mesh, loss, *arguments) in cases.items():
        found[f"loss: {name}"] = mesh, loss, arguments
        found[f"gradient: {name}"] = mesh, jax.grad(loss), arguments
    return found


if __name__ == "__main__":
    import json

    import jax

    json.dump({name: record(jax, name) for name in programs(jax)}, sys.stdout, indent=1)
