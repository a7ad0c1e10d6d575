"""Linear algebra as calls: of LAPACK on the CPU, of cuSOLVER on NVIDIA's GPUs, of TPUs' own.

The targets are typed foreign functions that jaxlib and its plugins ship. Matrices are laid out by
columns, the batch before them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from effax.backends.xla.lowering import linalg_tpu
from effax.backends.xla.lowering.shape import listed
from effax.backends.xla.lowering.writer import Name, Writer, rule, tensor
from effax.effects.errors import UnhandledEffectError
from effax.effects.matrices import adjoint, identity_like, triu
from effax.effects.rows import control, linalg
from effax.effects.rows.complex import imag, real
from effax.effects.rows.elementwise import add, is_finite
from effax.effects.rows.logical import and_
from effax.effects.rows.selection import select_n
from effax.effects.types import ShapedArray, bool_, int32, is_complex, real_dtype, typeof
from effax.interpreters.stage import stage

_LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}


def _layout(type: ShapedArray, batch: int, by_columns: bool) -> str:
    """The order of axes in memory, the fastest first; the batch last."""
    own = len(type.shape) - batch
    order = [*range(batch, batch + own)]
    if own != 2 or not by_columns:
        order = order[::-1]
    order += range(batch - 1, -1, -1)
    return f"dense<{listed(order) if order else ''}> : tensor<{len(order)}xindex>"


def foreign(
    w: Writer,
    target: str,
    operands: Sequence[Name],
    types: Sequence[ShapedArray],
    batch: int,
    attributes: str = "",
    alias: int | None = None,
    by_columns: bool = True,
) -> list[Name]:
    """Call a typed foreign function; its first result reuses the memory of operand `alias`, if any.

    The function computes each matrix of the batch by itself. The call says so on a mesh, since XLA
    would gather a whole operand otherwise.
    """
    ins = ", ".join(_layout(x.type, batch, by_columns) for x in operands)
    outs = ", ".join(_layout(t, batch, by_columns) for t in types)
    tuple_indices = "[0]" if len(types) > 1 else "[]"
    reuse = (
        ""
        if alias is None
        else "output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = "
        f"{tuple_indices}, operand_index = {alias}, operand_tuple_indices = []>], "
    )
    given = ", ".join(x.text for x in operands)
    results = ", ".join(map(tensor, types))
    text = (
        f"stablehlo.custom_call @{target}({', '.join(operands)}) {{api_version = 4 : i32, "
        f"backend_config = {{{attributes}}}, operand_layouts = [{ins}], {reuse}"
        f"result_layouts = [{outs}]{_by_matrix(w, operands, types, batch)}}} : ({given}) -> "
    )
    text += f"({results})" if len(types) > 1 else results
    return w.ops(text, types) if len(types) > 1 else [w.op(text, types[0])]


def _by_matrix(
    w: Writer, operands: Sequence[Name], types: Sequence[ShapedArray], batch: int
) -> str:
    """The attributes by which Shardy and the partitioner keep the shards of the batch apart.

    Shardy's rule numbers the axes that belong together: those of the batch are shared by all
    operands and results, each other axis is on its own.
    """
    if w.mesh is None or not batch:
        return ""
    sizes = list(operands[0].shape[:batch])
    ends = []
    for type in (*(x.type for x in operands), *types):
        own = range(len(sizes), len(sizes) + type.ndim - batch)
        ends.append(f"[{', '.join(map(_factor, (*range(batch), *own)))}]")
        sizes += type.shape[batch:]
    known = ", ".join(f"{_factor(i)}={n}" for i, n in enumerate(sizes))
    ins, outs = ", ".join(ends[: len(operands)]), ", ".join(ends[len(operands) :])
    return (
        f', mhlo.frontend_attributes = {{num_batch_dims = "{batch}"}}, sdy.sharding_rule = '
        f"#sdy.op_sharding_rule<({ins})->({outs}) {{{known}}}, custom>"
    )


def _factor(i: int) -> str:
    """Shardy's name of a factor: i to z, then z_1, z_2 and so on."""
    return chr(ord("i") + i) if i < 18 else f"z_{i - 17}"


def is_gpu(w: Writer) -> bool:
    return w.platform in ("cuda", "gpu")


def require_cpu(w: Writer, effect: Any) -> None:
    if w.platform != "cpu":
        raise UnhandledEffectError(
            f"the effect '{effect.name}' has no lowering for the platform {w.platform!r}; compute "
            "it on the CPU, with device_put"
        )


def require_lapack(w: Writer, effect: Any) -> None:
    if not is_gpu(w):
        require_cpu(w, effect)


def info_type(x: Name, batch: int) -> ShapedArray:
    """The type of the codes by which a foreign function reports failure."""
    return ShapedArray(x.shape[:batch], int32)


def or_nan(w: Writer, x: Name, info: Name, test: str = "EQ") -> Name:
    """x where the code is zero (where `info GE 0`, if that is the test), NaN elsewhere."""
    batch = len(info.shape)
    flags = info.type.update(dtype=bool_)
    zero = w.constant(0, info.type)
    good = w.op(
        f"stablehlo.compare {test}, {info}, {zero}, SIGNED : ({info.text}, {zero.text}) -> "
        f"{tensor(flags)}",
        flags,
    )
    wide = x.type.update(dtype=bool_)
    mask = w.op(
        f"stablehlo.broadcast_in_dim {good}, dims = {listed(range(batch))} : ({good.text}) -> "
        f"{tensor(wide)}",
        wide,
    )
    nan = w.constant(complex("nan+nanj") if is_complex(x.dtype) else float("nan"), x.type)
    return w.op(f"stablehlo.select {mask}, {x}, {nan} : {tensor(wide)}, {x.text}", x.type)


def lapack_name(w: Writer, x: Name, name: str, cusolver: str | None = None) -> str:
    """The foreign function for elements of this dtype, on this platform."""
    if is_gpu(w):
        return f"cusolver_{cusolver or name}_ffi"
    return f"lapack_{_LETTERS[x.dtype.name]}{name}_ffi"


@rule(linalg.cholesky)
def lower_cholesky(w: Writer, types: Sequence[ShapedArray], x: Name) -> Name:
    batch = len(x.shape) - 2
    if w.platform not in ("cpu", "cuda", "gpu"):
        factor = w.op(f"stablehlo.cholesky {x}, lower = true : {x.text}", types[0])
        return w.performed(_tril, factor)
    attributes = "lower = true" if is_gpu(w) else "uplo = 76 : ui8"
    factor, info = foreign(
        w, lapack_name(w, x, "potrf"), [x], [types[0], info_type(x, batch)], batch, attributes, 0
    )
    return w.performed(_tril, or_nan(w, factor, info))


def _tril(x: Any) -> Any:
    from effax.effects.matrices import tril

    return tril(x)


@rule(linalg.triangular_solve)
def lower_triangular_solve(
    w: Writer,
    types: Sequence[ShapedArray],
    a: Name,
    b: Name,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> Name:
    conjugate_a = conjugate_a and is_complex(a.dtype)
    if conjugate_a and not transpose_a:
        from effax.effects.rows.complex import conj

        a = w.performed(conj, a)
        conjugate_a = False
    if w.platform != "cpu" or 0 in b.shape or 0 in a.shape:
        mode = "NO_TRANSPOSE"
        if transpose_a:
            mode = "ADJOINT" if conjugate_a else "TRANSPOSE"
        flags = (
            f"left_side = {_flag(left_side)}, lower = {_flag(lower)}, transpose_a = "
            f"#stablehlo<transpose {mode}>, unit_diagonal = {_flag(unit_diagonal)}"
        )
        return w.op(
            f'"stablehlo.triangular_solve"({a}, {b}) {{{flags}}} : ({a.text}, {b.text}) -> '
            f"{tensor(types[0])}",
            types[0],
        )
    trans = "N"
    if transpose_a:
        trans = "C" if conjugate_a else "T"
    attributes = ", ".join(
        f"{name} = {ord(letter)} : ui8"
        for name, letter in (
            ("diag", "U" if unit_diagonal else "N"),
            ("side", "L" if left_side else "R"),
            ("trans_x", trans),
            ("uplo", "L" if lower else "U"),
        )
    )
    batch = len(a.shape) - 2
    return foreign(w, lapack_name(w, a, "trsm"), [a, b], types, batch, attributes, 1)[0]


def _flag(value: bool) -> str:
    return "true" if value else "false"


@rule(linalg.lu)
def lower_lu(w: Writer, types: Sequence[ShapedArray], x: Name) -> list[Name]:
    """A singular matrix has factors too; only an illegal argument gives NaN."""
    if w.platform == "tpu":
        return linalg_tpu.lu(w, types, x)
    require_lapack(w, linalg.lu)
    batch = len(x.shape) - 2
    out, pivots, info = foreign(
        w, lapack_name(w, x, "getrf"), [x], [*types, info_type(x, batch)], batch, alias=0
    )
    from_zero = w.simple("subtract", [pivots, w.constant(1, pivots.type)], pivots.type)
    return [or_nan(w, out, info, "GE"), from_zero]


@rule(linalg.pivots_to_permutation)
def lower_pivots_to_permutation(
    w: Writer, types: Sequence[ShapedArray], pivots: Name, *, size: int
) -> Name:
    if is_gpu(w) and pivots.shape[-1] and size:
        # The kernel writes wherever a pivot points.
        ends = [w.constant(i, ShapedArray((), pivots.dtype)) for i in (0, size - 1)]
        pivots = w.simple("clamp", [ends[0], pivots, ends[1]], pivots.type)
        return foreign(w, "cu_lu_pivots_to_permutation", [pivots], types, len(pivots.shape) - 1)[0]
    return w.performed(lambda p: _permutation(p, size), pivots)


def _permutation(pivots: Any, size: int) -> Any:
    """The exchanges done one after the other on 0, 1, 2, ..., as a scan over the pivots."""
    from effax.effects.rows import shape

    type = typeof(pivots)
    batch = type.shape[:-1]
    last = len(batch)
    places = shape.iota(dtype=int32, shape=(*batch, size), dimension=last)
    if not type.shape[-1]:
        return places
    exchange = _exchange_in_batch if batch else _exchange
    types = [ShapedArray((), int32), typeof(places), ShapedArray(batch, int32)]
    _, order = control.scan(
        shape.scalar(0, int32),
        places,
        shape.transpose(pivots, permutation=(last, *range(last))),
        body=stage(exchange, types, "exchange").program,
        consts=0,
        carry=2,
        length=type.shape[-1],
        reverse=False,
        unroll=1,
    )
    return order


def _exchange(i: Any, order: Any, pivot: Any) -> list[Any]:
    """Two elements are read and written where they are."""
    from effax.effects.rows.indexing import dynamic_slice, dynamic_update_slice

    one, other = dynamic_slice(order, i, sizes=(1,)), dynamic_slice(order, pivot, sizes=(1,))
    order = dynamic_update_slice(order, other, i)
    return [add(i, 1), dynamic_update_slice(order, one, pivot)]


def _exchange_in_batch(i: Any, order: Any, pivot: Any) -> list[Any]:
    """The pivots differ from lane to lane: all elements are compared with their places."""
    from effax.effects.rows import comparison, shape
    from effax.effects.rows.reduction import reduce_sum
    from effax.effects.rows.selection import select_n

    lengths = typeof(order).shape
    last = len(lengths) - 1
    spread = tuple(range(last))

    def element(here: Any) -> Any:
        picked = reduce_sum(select_n(here, 0, order), axes=(last,))
        return shape.broadcast_in_dim(picked, shape=lengths, dims=spread)

    numbers = shape.iota(dtype=int32, shape=lengths, dimension=last)
    here = comparison.eq(numbers, shape.broadcast_in_dim(i, shape=lengths, dims=()))
    there = comparison.eq(numbers, shape.broadcast_in_dim(pivot, shape=lengths, dims=spread))
    one, other = element(here), element(there)
    return [add(i, 1), select_n(here, select_n(there, order, one), other)]


def reflections(w: Writer, effect: Any, x: Name) -> tuple[Name, Name]:
    """Householder's reflections of a matrix below its r, and their factors."""
    taus = x.type.update(shape=(*x.shape[:-2], min(x.shape[-2:])), weak_type=False)
    if w.platform == "tpu":
        return linalg_tpu.reflections(w, effect, x, taus)
    require_lapack(w, effect)
    batch = len(x.shape) - 2
    packed, tau = foreign(
        w, lapack_name(w, x, "geqrf"), [x], [x.type.strong(), taus], batch, alias=0
    )
    return packed, tau


@rule(linalg.qr)
def lower_qr(
    w: Writer, types: Sequence[ShapedArray], x: Name, *, full_matrices: bool
) -> list[Name]:
    """Householder's reflections, multiplied out."""
    batch = len(x.shape) - 2
    q_type, r_type = types
    packed, tau = reflections(w, linalg.qr, x)
    reflectors = resized(w, packed, batch + 1, q_type.shape[-1])
    product = "ungqr" if is_complex(x.dtype) else "orgqr"
    if w.platform == "tpu":
        q = linalg_tpu.multiplied_out(w, reflectors, tau)
    else:
        (q,) = foreign(
            w, lapack_name(w, x, product, "orgqr"), [reflectors, tau], [q_type], batch, alias=0
        )
    r = resized(w, packed, batch, r_type.shape[-2])
    return [q, w.performed(triu, r)]


def resized(w: Writer, x: Name, axis: int, length: int) -> Name:
    """The array cut, or filled up with zeros, to a length along an axis."""
    from effax.effects.rows import shape

    have = x.shape[axis]
    if have == length:
        return x
    if have > length:
        return w.performed(lambda a: shape.slice_axis(a, axis, 0, length), x)
    return w.performed(lambda a: shape.pad_axis(a, axis, 0, length - have), x)


@rule(linalg.eigh)
def lower_eigh(w: Writer, types: Sequence[ShapedArray], x: Name, *, lower: bool) -> list[Name]:
    if w.platform == "tpu":
        return linalg_tpu.eigh(w, types, x, lower)
    require_lapack(w, linalg.eigh)
    batch = len(x.shape) - 2
    if is_gpu(w):
        target, attributes = "cusolver_syevd_ffi", f"algorithm = 0 : ui8, lower = {_flag(lower)}"
    else:
        target = lapack_name(w, x, "heevd" if is_complex(x.dtype) else "syevd")
        attributes = f"mode = {ord('V')} : ui8, uplo = {ord('L' if lower else 'U')} : ui8"
    *results, info = foreign(w, target, [x], [*types, info_type(x, batch)], batch, attributes, 0)
    return [or_nan(w, y, info) for y in results]


@rule(linalg.svd)
def lower_svd(
    w: Writer,
    types: Sequence[ShapedArray],
    x: Name,
    *,
    full_matrices: bool,
    compute_uv: bool,
    by_qr: bool = False,
) -> list[Name]:
    if w.platform != "tpu" or by_qr:
        require_lapack(w, linalg.svd)
    batch = len(x.shape) - 2
    m, n = x.shape[-2:]
    k = min(m, n)
    values = x.type.strong().update(shape=(*x.shape[:-2], k), dtype=real_dtype(x.dtype))
    if not k:  # LAPACK refuses an empty matrix
        zeros = [w.constant(0, t) for t in types]
        return [zeros[0], *[w.performed(identity_like, y) for y in zeros[1:]]]
    if w.platform == "tpu":
        return linalg_tpu.svd(w, types, x, full_matrices, compute_uv)
    if is_gpu(w):
        if by_qr or max(m, n) > _JACOBI:
            return _svd_by_qr(w, x, values, types, full_matrices)
        return _svd_by_jacobi(w, x, values, types, compute_uv)
    x = w.performed(_nan_unless_finite, x)
    whole = not compute_uv or full_matrices
    u_type = x.type.strong().update(shape=(*x.shape[:-2], m, m if whole else k))
    v_type = x.type.strong().update(shape=(*x.shape[:-2], n if whole else k, n))
    mode = "N" if not compute_uv else ("A" if full_matrices else "S")
    _, s, u, vh, info = foreign(
        w,
        lapack_name(w, x, "gesvd" if by_qr else "gesdd"),
        [x],
        [x.type.strong(), values, u_type, v_type, info_type(x, batch)],
        batch,
        f"mode = {ord(mode)} : ui8",
        0,
    )
    return [or_nan(w, y, info) for y in ((s, u, vh) if compute_uv else (s,))]


def _nan_unless_finite(x: Any) -> Any:
    """LAPACK's singular values of a matrix with an infinity never end; those of a NaN are NaN."""
    parts = (real(x), imag(x)) if is_complex(typeof(x).dtype) else (x,)
    return select_n(reduce(and_, map(is_finite, parts)), float("nan"), x)


def _svd_by_jacobi(
    w: Writer, x: Name, values: ShapedArray, types: Sequence[ShapedArray], compute_uv: bool
) -> list[Name]:
    """cuSOLVER's Jacobi method, of u and v; of square ones the columns asked for are taken.

    Matrices of up to 32 rows and columns are done in batches, which have square ones alone.
    """
    batch = len(x.shape) - 2
    m, n = x.shape[-2:]
    economical = min(m, n) > 32 and (not compute_uv or types[1].shape[-1] == min(m, n))
    full = [
        x.type.strong().update(shape=(*x.shape[:-2], size, min(m, n) if economical else size))
        for size in (m, n)
    ]
    _, s, u, v, info = foreign(
        w,
        "cusolver_gesvdj_ffi",
        [x],
        [x.type.strong(), values, *full, info_type(x, batch)],
        batch,
        f"compute_uv = {_flag(compute_uv)}, full_matrices = {_flag(not economical)}",
        0,
    )
    if not compute_uv:
        return [or_nan(w, s, info)]
    u = resized(w, u, batch + 1, types[1].shape[-1])
    vh = w.performed(adjoint, resized(w, v, batch + 1, types[2].shape[-2]))
    return [or_nan(w, y, info) for y in (s, u, vh)]


_JACOBI = 1024
"""The largest matrix that is decomposed by Jacobi's method on a GPU, as jax has it."""


def _svd_by_qr(
    w: Writer, x: Name, values: ShapedArray, types: Sequence[ShapedArray], full_matrices: bool
) -> list[Name]:
    """cuSOLVER's QR method, of tall matrices: a wide one is given by rows, as its transpose."""
    batch = len(x.shape) - 2
    m, n = x.shape[-2:]
    wide, full, k = m < n, full_matrices and len(types) > 1, min(m, n)
    u, vh = (
        x.type.strong().update(shape=(*x.shape[:-2], *shape))
        for shape in ((m, m if full else k), (n if full else k, n))
    )
    _, s, left, right, info = foreign(
        w,
        "cusolver_gesvd_ffi",
        [x],
        [x.type.strong(), values, *((vh, u) if wide else (u, vh)), info_type(x, batch)],
        batch,
        f"compute_uv = {_flag(len(types) > 1)}, full_matrices = {_flag(full)}, "
        f"transposed = {_flag(wide)}",
        0,
        by_columns=not wide,
    )
    found = (s, right, left) if wide else (s, left, right)
    return [or_nan(w, y, info) for y in found[: len(types)]]


@rule(linalg.eig)
def lower_eig(
    w: Writer,
    types: Sequence[ShapedArray],
    x: Name,
    *,
    compute_left: bool,
    compute_right: bool,
) -> list[Name]:
    """LAPACK gives the eigenvalues of a real matrix as real and imaginary parts."""
    require_cpu(w, linalg.eig)
    batch = len(x.shape) - 2
    values = types[0]
    vectors = values.update(shape=x.shape)
    parts = [values] if is_complex(x.dtype) else [values.update(dtype=x.dtype)] * 2
    attributes = ", ".join(
        f"{name} = {ord('V' if wanted else 'N')} : ui8"
        for name, wanted in (("compute_left", compute_left), ("compute_right", compute_right))
    )
    *found, left, right, info = foreign(
        w,
        lapack_name(w, x, "geev"),
        [x],
        [*parts, vectors, vectors, info_type(x, batch)],
        batch,
        attributes,
    )
    w_name = found[0]
    if len(found) == 2:
        w_name = w.op(f"stablehlo.complex {found[0]}, {found[1]} : {tensor(values)}", values)
    wanted = [left] * compute_left + [right] * compute_right
    return [or_nan(w, y, info) for y in (w_name, *wanted)]
