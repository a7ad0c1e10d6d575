"""Programs over a mesh with explicit axes, for effax and for JAX; and what JAX answers to each.

Run with JAX 0.10.2 in place of effax, it records the table that `explicit_axes.py` compares with:

    XLA_FLAGS=--xla_force_host_platform_device_count=8 python tests/parallel/explicit_cases.py \\
        > tests/parallel/explicit_types.json
"""

import sys

import numpy as np

ELEMENTS = 7


def answers(library, only=None, table=None):
    """The type of each program's result and the sum of its elements, or the refusal, by name."""
    found = {}
    with library.set_mesh(mesh_of(library)):
        for name, program in (table or programs)(library).items():
            if only is not None and name not in only:
                continue
            try:
                found[name] = described(library, program())
            except Exception as error:  # whatever it is, it is the answer
                found[name] = f"refused: {type(error).__name__}"
    return found


def mesh_of(library):
    return library.make_mesh((4, 2), ("x", "y"))


def described(library, result):
    if isinstance(result, library.ShapeDtypeStruct):
        return f"{result.shape} {tuple(result.sharding.spec)}"
    text = str(library.typeof(result)).removeprefix("~")
    if not hasattr(result, "devices"):
        return text
    total = float(np.abs(np.asarray(result).astype("complex64")).sum().real)
    return f"{text} {total:.4g}"


def programs(jax):
    """The programs, by name; each is a function without arguments."""
    jnp, lax, nn, P = jax.numpy, jax.lax, jax.nn, jax.P
    auto_axes, explicit_axes = jax.sharding.auto_axes, jax.sharding.explicit_axes
    mesh = mesh_of(jax)

    def put(shape, *spec, dtype="float32"):
        values = np.arange(int(np.prod(shape))) % ELEMENTS + 1
        where = jax.NamedSharding(mesh, P(*spec))
        return jax.device_put(values.reshape(shape).astype(dtype), where)

    def over(*spec):
        return jax.NamedSharding(mesh, P(*spec))

    by_x, by_y, rows_y, both = (put((8, 4), *s) for s in (("x",), (None, "x"), ("y",), "xy"))
    whole, merged, vector = put((8, 4)), put((16, 4), ("x", "y")), put((8,), "x")
    cube, batch = put((8, 4, 6), "x", "y"), put((8, 4, 4), "x")
    integers, plain = put((8,), "x", dtype="int32"), np.ones((8, 4), "f")
    return {
        "sin": lambda: jnp.sin(both),
        "add_same": lambda: both + both,
        "add_bcast": lambda: by_x + put((4,), "y"),
        "add_dup": lambda: by_x + by_y,
        "add_conf": lambda: by_x + rows_y,
        "add_plain": lambda: by_x + whole,
        "add_np": lambda: by_x + plain,
        "add_scalar": lambda: by_x + 1.0,
        "where": lambda: jnp.where(by_x > 2, by_x, 0.0),
        "where_r": lambda: jnp.where(by_x > 2, by_x, whole),
        "select_r": lambda: lax.select(by_x > 2, by_x, whole),
        "sum0": lambda: both.sum(0),
        "sum1": lambda: both.sum(1),
        "sum": lambda: both.sum(),
        "sumk": lambda: both.sum(0, keepdims=True),
        "mean": lambda: both.mean(1),
        "max": lambda: both.max(0),
        "argmax": lambda: jnp.argmax(both, 1),
        "argmax0": lambda: jnp.argmax(both, 0),
        "var": lambda: both.var(0),
        "std": lambda: both.std(),
        "any": lambda: (both > 3).any(0),
        "prod": lambda: both.prod(1),
        "logsumexp": lambda: nn.logsumexp(both, axis=1),
        "softmax": lambda: nn.softmax(both, axis=1),
        "log_softmax": lambda: nn.log_softmax(by_x),
        "relu": lambda: nn.relu(both),
        "gelu": lambda: nn.gelu(both),
        "silu": lambda: nn.silu(both),
        "onehot": lambda: nn.one_hot(integers, 4),
        "T": lambda: both.T,
        "swap": lambda: jnp.swapaxes(cube, 0, 2),
        "moveaxis": lambda: jnp.moveaxis(cube, 0, 2),
        "reshape_split": lambda: by_x.reshape(4, 2, 4),
        "reshape_split2": lambda: by_x.reshape(2, 4, 4),
        "reshape_merge": lambda: by_x.reshape(32),
        "reshape_merge_xy": lambda: both.reshape(32),
        "reshape_1": lambda: both.reshape(8, 1, 4),
        "reshape_flat3": lambda: cube.reshape(32, 6),
        "reshape_last": lambda: put((8, 4, 6), "x", None, "y").reshape(8, 24),
        "reshape_bad": lambda: both.reshape(4, 8),
        "reshape_out": lambda: both.reshape(4, 8, out_sharding=P("x")),
        "reshape_xyc": lambda: merged.reshape(8, 2, 4),
        "reshape_xyc2": lambda: merged.reshape(4, 4, 4),
        "ravel": lambda: jnp.ravel(by_x),
        "reshape_same_r": lambda: whole.reshape(4, 8),
        "expand": lambda: both[None],
        "expand2": lambda: both[:, None],
        "squeeze": lambda: jnp.squeeze(both[:, None]),
        "reshape_two_merge": lambda: put((4, 2, 4, 2), "x", None, "y").reshape(8, 8),
        "bcast": lambda: jnp.broadcast_to(vector[:, None], (8, 5)),
        "bcast_out": lambda: jnp.broadcast_to(put((8,)), (4, 8), out_sharding=P("x")),
        "lax_bcast": lambda: lax.broadcast(vector, (3,)),
        "concat": lambda: jnp.concatenate([by_x, by_x]),
        "concat1": lambda: jnp.concatenate([by_x, by_x], 1),
        "concat_r": lambda: jnp.concatenate([by_x, whole]),
        "concat_np": lambda: jnp.concatenate([by_x, plain]),
        "concat_xy": lambda: jnp.concatenate([by_x, both]),
        "stack": lambda: jnp.stack([by_x, by_x]),
        "hstack": lambda: jnp.hstack([by_x, by_x]),
        "stack_r": lambda: jnp.stack([by_x, whole]),
        "pad": lambda: jnp.pad(by_x, ((0, 0), (1, 1))),
        "pad_cut": lambda: jnp.pad(by_x, ((1, 1), (0, 0))),
        "pad_cut4": lambda: jnp.pad(by_x, ((2, 2), (0, 0))),
        "flip": lambda: jnp.flip(by_x, 0),
        "slice0": lambda: by_x[:4],
        "slice0b": lambda: by_x[:3],
        "slice1": lambda: by_x[:, :2],
        "index0": lambda: by_x[0],
        "index1": lambda: by_x[:, 0],
        "stride": lambda: by_x[::2],
        "dynslice": lambda: lax.dynamic_slice(by_x, (0, 0), (8, 2)),
        "dynslice0": lambda: lax.dynamic_slice(by_x, (0, 0), (3, 2)),
        "dynidx": lambda: lax.dynamic_index_in_dim(by_x, 0, 1),
        "dus": lambda: lax.dynamic_update_slice(by_x, by_x[:, :2], (0, 0)),
        "dus_r": lambda: lax.dynamic_update_slice(by_x, whole[:, :2], (0, 0)),
        "take": lambda: jnp.take(put((8, 4), None, "y"), np.array([0, 1]), axis=0),
        "take_cut": lambda: jnp.take(by_x, np.array([0, 1]), axis=0),
        "take_out": lambda: by_x.at[np.array([0, 1])].get(out_sharding=P(None, None)),
        "take_ix": lambda: jnp.take(whole, integers, axis=0),
        "gather_adv": lambda: put((8, 4), None, "y")[np.array([0, 1])],
        "taa": lambda: jnp.take_along_axis(by_x, jnp.argsort(by_x, 1), 1),
        "taa0": lambda: jnp.take_along_axis(by_x, jnp.argsort(whole, 0), 0),
        "set": lambda: by_x.at[:, 0].set(1.0),
        "set0": lambda: by_x.at[0].set(1.0),
        "add_at": lambda: by_x.at[np.array([0, 1])].add(1.0),
        "set_out": lambda: by_x.at[np.array([0, 1])].add(1.0, out_sharding=P("x")),
        "set_rows": lambda: put((8, 4), None, "y").at[np.array([0, 1])].set(put((2, 4), None, "y")),
        "dot": lambda: jnp.dot(both, put((4, 6))),
        "dot_y": lambda: jnp.dot(both, put((4, 6), "y")),
        "dot_fsdp": lambda: jnp.dot(whole, put((4, 6), "y")),
        "dot_col": lambda: jnp.dot(by_x, put((4, 6), None, "y")),
        "dot_dup": lambda: jnp.dot(by_x, put((4, 8), None, "x")),
        "dot_out": lambda: jnp.dot(both, put((4, 6), "y"), out_sharding=P("x")),
        "dot_conf": lambda: jnp.dot(both, put((4, 8), "x")),
        "matmul_b": lambda: batch @ batch,
        "matmul_bout": lambda: jnp.matmul(batch, batch, out_sharding=P("x")),
        "matmul_bb": lambda: batch @ put((4, 4)),
        "einsum": lambda: jnp.einsum("bij,bjk->bik", batch, batch),
        "einsum2": lambda: jnp.einsum("ij,jk->ki", by_x, put((4, 6), None, "y")),
        "einsum_out": lambda: jnp.einsum("ij,jk->ik", both, put((4, 6), "y"), out_sharding=P("x")),
        "einsum_amb": lambda: jnp.einsum("ij,jk->ik", both, put((4, 6), "y")),
        "tensordot": lambda: jnp.tensordot(by_x, put((4, 6)), 1),
        "vdot": lambda: jnp.vdot(vector, vector),
        "inner": lambda: jnp.inner(vector, vector),
        "outer": lambda: jnp.outer(vector, put((6,), "y")),
        "outer_dup": lambda: jnp.outer(vector, vector),
        "dot_vec": lambda: by_x @ put((4,)),
        "norm": lambda: jnp.linalg.norm(by_x, axis=1),
        "norm_all": lambda: jnp.linalg.norm(by_x),
        "cumsum1": lambda: jnp.cumsum(by_x, 1),
        "cumsum0": lambda: jnp.cumsum(by_x, 0),
        "sort1": lambda: jnp.sort(by_x, 1),
        "sort0": lambda: jnp.sort(by_x, 0),
        "argsort1": lambda: jnp.argsort(by_x, 1),
        "topk": lambda: lax.top_k(by_x, 2)[0],
        "chol": lambda: jnp.linalg.cholesky(batch @ batch.swapaxes(1, 2) + 100 * jnp.eye(4)),
        "solve": lambda: jnp.linalg.solve(batch + 9 * jnp.eye(4), batch),
        "inv": lambda: jnp.linalg.inv(batch + 9 * jnp.eye(4)),
        "det": lambda: jnp.linalg.det(batch),
        "qr": lambda: jnp.linalg.qr(batch)[0],
        "chol_cut": lambda: jnp.linalg.cholesky(put((4, 4), "x")),
        "eigh": lambda: jnp.linalg.eigh(batch)[0],
        "svd": lambda: jnp.linalg.svd(batch)[1],
        "conv": lambda: lax.conv(put((8, 3, 8, 8), "x"), put((4, 3, 3, 3)), (1, 1), "SAME"),
        "conv_bad": lambda: lax.conv(
            put((8, 4, 8, 8), None, "x"), put((4, 4, 3, 3)), (1, 1), "SAME"
        ),
        "pool": lambda: lax.reduce_window(
            put((8, 8, 4), "x"), -np.inf, lax.max, (1, 2, 1), (1, 2, 1), "VALID"
        ),
        "fft": lambda: jnp.fft.fft(by_x.astype("complex64")),
        "rfft": lambda: jnp.fft.rfft(by_x),
        "astype": lambda: both.astype("int32"),
        "zeros_like": lambda: jnp.zeros_like(both),
        "ones_like": lambda: jnp.ones_like(both),
        "full_like": lambda: jnp.full_like(both, 3.0),
        "zeros": lambda: jnp.zeros((8, 4)),
        "zeros_out": lambda: jnp.zeros((8, 4), out_sharding=P("x")),
        "arange_out": lambda: jnp.arange(8, out_sharding=P("x")),
        "normal_out": lambda: jax.random.normal(
            jax.random.key(0), (8, 4), out_sharding=P("x", "y")
        ),
        "tril": lambda: jnp.tril(by_x),
        "clip": lambda: jnp.clip(by_x, 1.0, 3.0),
        "split": lambda: jnp.split(by_x, 2, axis=1)[0],
        "split0": lambda: jnp.split(by_x, 2, axis=0)[0],
        "repeat": lambda: jnp.repeat(by_x, 2, axis=1),
        "tile": lambda: jnp.tile(by_x, (1, 2)),
        "roll": lambda: jnp.roll(by_x, 1, axis=1),
        "roll0": lambda: jnp.roll(by_x, 1, axis=0),
        "diag": lambda: jnp.diagonal(batch, axis1=1, axis2=2),
        "trace": lambda: jnp.trace(batch, axis1=1, axis2=2),
        "meshgrid": lambda: jnp.meshgrid(vector, put((6,)))[0],
        "polyval": lambda: jnp.polyval(put((3,)), vector),
        "interp": lambda: jnp.interp(vector, np.arange(3.0), np.arange(3.0)),
        "unstack": lambda: list(by_x.T)[1],
        "allclose": lambda: jnp.allclose(by_x, by_x),
        "median": lambda: jnp.median(by_x, axis=1),
        "quantile": lambda: jnp.quantile(by_x, 0.5, axis=1),
        "isnan": lambda: jnp.isnan(by_x),
        "round": lambda: jnp.round(by_x),
        "expm1": lambda: jnp.expm1(by_x),
        "power": lambda: by_x**2,
        "matpow": lambda: by_x**rows_y,
        "cond": lambda: lax.cond(True, jnp.sin, jnp.cos, by_x),
        "cond_mis": lambda: lax.cond(True, lambda a: a, lambda a: jax.reshard(a, P()), by_x),
        "while": lambda: lax.while_loop(lambda c: c.sum() < 1e3, lambda c: c * 2, by_x),
        "scan_xs": lambda: lax.scan(lambda c, a: (c + a.sum(), a * 2), 0.0, put((3, 8), None, "x"))[
            1
        ],
        "scan_xs_cut": lambda: lax.scan(lambda c, a: (c + a.sum(), a * 2), 0.0, by_x)[1],
        "scan_mis": lambda: lax.scan(lambda c, a: (c @ c.T, None), by_x, None, length=1)[0],
        "fori": lambda: lax.fori_loop(0, 3, lambda i, c: c + i, by_x),
        "map": lambda: lax.map(jnp.sin, put((3, 8), None, "x")),
        "map_cut": lambda: lax.map(jnp.sin, by_x),
        "jit": lambda: jax.jit(lambda a: jnp.sin(a) @ put((4, 6)))(both),
        "remat": lambda: jax.checkpoint(jnp.sin)(by_x),
        "vmap0": lambda: jax.vmap(jnp.sin)(by_x),
        "vmap1": lambda: jax.vmap(lambda a: a.sum(), in_axes=1)(both),
        "vmap_out1": lambda: jax.vmap(lambda a: a * 2, out_axes=1)(both),
        "vmap_mis": lambda: jax.vmap(lambda a, b: a + b)(by_x, whole),
        "vmap_un": lambda: jax.vmap(lambda a, b: a + b, (0, None))(by_x, put((4,))),
        "vmap_un_cut": lambda: jax.vmap(lambda a, b: a + b, (0, None))(by_x, put((4,), "y")),
        "vmap_un_same": lambda: jax.vmap(lambda a, b: a + b, (0, None))(by_x, put((4,), "x")),
        "vmap_dot": lambda: jax.vmap(lambda a, w: a @ w, (0, None))(by_x, put((4, 6), None, "y")),
        "vmap_scan": lambda: jax.vmap(lambda a: lax.scan(lambda c, t: (c + t, c), 0.0, a)[1])(by_x),
        "vmap_jit": lambda: jax.vmap(jax.jit(lambda a: a * 2 + 1))(both),
        "vmap_reshape": lambda: jax.vmap(lambda a: a.reshape(2, 2))(by_x),
        "vmap_r": lambda: jax.vmap(lambda a: a.sum())(put((8, 4), None, "y")),
        "vmap_const": lambda: jax.vmap(lambda a: jnp.ones(3))(by_x),
        "vmap_cat": lambda: jax.vmap(lambda a: jnp.concatenate([a, jnp.zeros(2)]))(by_x),
        "vmap_sort": lambda: jax.vmap(jnp.sort)(by_x),
        "vmap2": lambda: jax.vmap(jax.vmap(jnp.sin))(both),
        "wsc_ok": lambda: lax.with_sharding_constraint(by_x, P("x")),
        "wsc_bad": lambda: lax.with_sharding_constraint(by_x, P("y")),
        "wsc_jit_bad": lambda: jax.jit(lambda a: lax.with_sharding_constraint(a, P("y")))(by_x),
        "reshard": lambda: jax.reshard(by_x, P("y", "x")),
        "reshard_jit": lambda: jax.jit(lambda a: jax.reshard(a, P("y", "x")))(by_x),
        "reshard_bad": lambda: jax.reshard(by_x, P(None, None, "x")),
        "reshard_indiv": lambda: jax.reshard(put((6, 4)), P("x")),
        "device_put_jit": lambda: jax.jit(lambda a: jax.device_put(a, P("y")))(by_x),
        "g_sin": lambda: jax.grad(lambda a: jnp.sin(a).sum())(both),
        "g_dot": lambda: jax.grad(lambda w: (both @ w).sum())(put((4, 6))),
        "g_dot_fsdp": lambda: jax.grad(lambda w: (by_x @ w).sum())(put((4, 6), "y")),
        "g_dot_out": lambda: jax.grad(lambda w: jnp.dot(both, w, out_sharding=P("x")).sum())(
            put((4, 6), "y")
        ),
        "g_softmax": lambda: jax.grad(lambda a: (nn.softmax(a) * by_x).sum())(by_x),
        "g_max": lambda: jax.grad(lambda a: a.max(0).sum())(both),
        "g_reshape": lambda: jax.grad(lambda a: (a.reshape(32) ** 2).sum())(by_x),
        "g_bcast": lambda: jax.grad(lambda a: (by_x + a).sum())(put((4,))),
        "g_index": lambda: jax.grad(lambda a: a[:, 0].sum())(by_x),
        "g_concat": lambda: jax.grad(lambda a: jnp.concatenate([a, by_x]).sum())(by_x),
        "g_sort": lambda: jax.grad(lambda a: (jnp.sort(a, 1) * by_x).sum())(by_x),
        "g_cumsum": lambda: jax.grad(lambda a: (jnp.cumsum(a, 1) * by_x).sum())(by_x),
        "g_scan": lambda: jax.grad(
            lambda a: lax.scan(lambda c, _: (jnp.sin(c), None), a, None, length=3)[0].sum()
        )(by_x),
        "g_scanw": lambda: jax.grad(
            lambda w: lax.scan(lambda c, _: (jnp.tanh(c @ w), None), by_x, None, length=3)[0].sum()
        )(put((4, 4))),
        "g_while": lambda: jax.jvp(
            lambda a: lax.fori_loop(0, 3, lambda i, c: jnp.sin(c), a), (by_x,), (by_x,)
        )[1],
        "g_cond": lambda: jax.grad(lambda a: lax.cond(a.sum() > 0, jnp.sin, jnp.cos, a).sum())(
            by_x
        ),
        "g_remat": lambda: jax.grad(lambda a: jax.checkpoint(jnp.sin)(a).sum())(by_x),
        "g_vmap": lambda: jax.grad(lambda w: jax.vmap(lambda a: jnp.tanh(a @ w))(by_x).sum())(
            put((4, 6))
        ),
        "vmap_g": lambda: jax.vmap(jax.grad(lambda a: jnp.sin(a).sum()))(both),
        "vmap_gw": lambda: jax.vmap(
            lambda a: jax.grad(lambda w: jnp.tanh(a @ w).sum())(jnp.ones((4, 3)))
        )(by_x),
        "gg": lambda: jax.grad(lambda a: jax.grad(lambda b: jnp.sin(b).sum())(a).sum())(both),
        "hess": lambda: jax.hessian(lambda a: (a**3).sum())(put((4,), "x")),
        "jacrev": lambda: jax.jacrev(jnp.sin)(put((4,), "x")),
        "jacfwd": lambda: jax.jacfwd(jnp.sin)(put((4,), "x")),
        "g_take": lambda: jax.grad(lambda a: jnp.take(a, np.array([0, 1]), axis=0).sum())(
            put((8, 4), None, "y")
        ),
        "jit_g": lambda: jax.jit(jax.grad(lambda w: jnp.tanh(both @ w).mean()))(
            put((4, 6), None, None)
        ),
        "vag": lambda: jax.value_and_grad(lambda w: jnp.tanh(both @ w).mean())(
            put((4, 6), None, None)
        )[1],
        "g_chol": lambda: jax.grad(
            lambda a: jnp.linalg.cholesky(a @ a.swapaxes(1, 2) + 100 * jnp.eye(4)).sum()
        )(batch),
        "g_conv": lambda: jax.grad(
            lambda k: lax.conv(put((8, 3, 8, 8), "x"), k, (1, 1), "SAME").sum()
        )(put((4, 3, 3, 3))),
        "g_where": lambda: jax.grad(lambda a: jnp.where(a > 2, a, 0.0).sum())(by_x),
        "g_logsumexp": lambda: jax.grad(lambda a: nn.logsumexp(a, axis=1).sum())(both),
        "g_custom": lambda: jax.grad(lambda a: nn.relu(a).sum())(by_x),
        "linearize": lambda: jax.linearize(jnp.sin, by_x)[1](by_x),
        "vjp": lambda: jax.vjp(jnp.sin, by_x)[1](by_x)[0],
        "jvp": lambda: jax.jvp(lambda a: a @ put((4, 6)), (both,), (both,))[1],
        "auto": lambda: auto_axes(lambda a, b: a + b)(by_x, by_y, out_sharding=P("x")),
        "auto_dec": lambda: auto_axes(lambda a, b: a @ b.T, out_sharding=P(None, "x"))(by_x, by_y),
        "auto_part": lambda: auto_axes(
            lambda a: a.reshape(4, 8), axes="y", out_sharding=P(None, "y")
        )(put((8, 4), None, "y")),
        "auto_missing": lambda: auto_axes(lambda a: a)(by_x),
        "auto_jit": lambda: jax.jit(
            lambda a, b: auto_axes(lambda a, b: a + b)(a, b, out_sharding=P("x"))
        )(by_x, by_y),
        "g_auto": lambda: jax.grad(
            lambda a: auto_axes(lambda a, b: a * b)(a, by_y, out_sharding=P("x")).sum()
        )(by_x),
        "expl_missing": lambda: explicit_axes(lambda a: a)(by_x),
        "shmap": lambda: jax.shard_map(lambda a: a * 2, in_specs=P("x"), out_specs=P("x"))(by_x),
        "shmap_inf": lambda: jax.shard_map(lambda a: a * 2, out_specs=P("x", "y"))(both),
        "shmap_inf_jit": lambda: jax.jit(
            lambda a: jax.shard_map(lambda a: a * 2, out_specs=P("x", "y"))(a)
        )(both),
        "shmap_mis": lambda: jax.shard_map(lambda a: a * 2, in_specs=P("y"), out_specs=P("y"))(
            by_x
        ),
        "shmap_psum": lambda: jax.shard_map(
            lambda a: lax.psum(a, "x"), in_specs=P("x"), out_specs=P()
        )(by_x),
        "g_shmap": lambda: jax.grad(
            lambda a: jax.shard_map(lambda a: jnp.sin(a), in_specs=P("x"), out_specs=P("x"))(
                a
            ).sum()
        )(by_x),
        "shmap_partial": lambda: jax.shard_map(
            lambda a: a * 2, in_specs=P("x"), out_specs=P("x"), axis_names={"x"}
        )(both),
        "in_sh": lambda: jax.jit(jnp.sin, in_shardings=P("x"))(plain),
        "out_sh": lambda: jax.jit(jnp.sin, out_shardings=P("x"))(whole),
        "eval_shape": lambda: jax.eval_shape(jnp.sin, by_x),
        "eval_struct": lambda: jax.eval_shape(
            lambda a: a.T, jax.ShapeDtypeStruct((8, 4), np.float32, sharding=over("x"))
        ),
        "callback": lambda: jax.pure_callback(
            lambda a: np.asarray(a), jax.ShapeDtypeStruct((8, 4), np.float32), by_x
        ),
        "random": lambda: jax.random.normal(jax.random.key(0), (8,)),
        "ref": lambda: jax.new_ref(by_x)[...],
    }


if __name__ == "__main__":
    import json

    import jax

    json.dump(answers(jax), sys.stdout, indent=1)
