"""Arithmetic of unit quaternions `(x, y, z, w)`, the last axis of arrays."""

from __future__ import annotations

import math
from typing import Any

import effax.numpy as jnp
from effax import lax
from effax.eager.whole import whole
from effax.effects.value import Array


def axes_of(seq: str) -> tuple[tuple[int, ...], bool]:
    """The numbers of the axes, and whether they stand still; `ValueError` for what names none."""
    if not 0 < len(seq) <= 3:
        raise ValueError(
            f"Expected axis specification to be a non-empty string of upto 3 characters, got {seq}"
        )
    extrinsic = all(c in "xyz" for c in seq)
    if not extrinsic and not all(c in "XYZ" for c in seq):
        raise ValueError(
            f"Expected axes from `seq` to be from ['x', 'y', 'z'] or ['X', 'Y', 'Z'], got {seq}"
        )
    return tuple("xyz".index(c) for c in seq.lower()), extrinsic


@whole()
def normalized(quat: Array) -> Array:
    """Quaternions of length 1; NaN for zero. The squares of those divided first don't overflow."""
    largest = lax.stop_gradient(jnp.max(jnp.abs(quat), axis=-1, keepdims=True))
    # A quarter, as the reciprocal of a number near the largest float is subnormal: 0 for XLA.
    part = jnp.where(largest > 1, 0.25, 1.0).astype(quat.dtype)
    scaled = part * quat / jnp.where(largest > 0, part * largest, 1)
    return scaled / jnp.linalg.norm(scaled, axis=-1, keepdims=True)


@whole()
def canonical(quat: Array) -> Array:
    """Of a quaternion and its negative, the same rotation, the one whose last part not 0 is > 0."""
    x, y, z, w = (quat[..., i] for i in range(4))
    first = jnp.where(x != 0, x, jnp.where(y != 0, y, z))
    negative = (w < 0) | ((w == 0) & (first < 0))
    return jnp.where(negative[..., None], -quat, quat)


@whole()
def conjugate(quat: Array) -> Array:
    """The rotation back."""
    return jnp.concatenate([-quat[..., :3], quat[..., 3:]], axis=-1)


@whole()
def composed(p: Array, q: Array) -> Array:
    """q and then p."""
    p, q = jnp.broadcast_arrays(p, q)
    v, w = p[..., :3], p[..., 3:]
    u, s = q[..., :3], q[..., 3:]
    vector = w * u + s * v + jnp.cross(v, u)
    return jnp.concatenate([vector, w * s - jnp.sum(v * u, axis=-1, keepdims=True)], axis=-1)


@whole()
def matrix(quat: Array) -> Array:
    """The orthogonal matrix."""
    x, y, z, w = (quat[..., i] for i in range(4))
    rows = [
        [x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), -x * x + y * y - z * z + w * w, 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), -x * x - y * y + z * z + w * w],
    ]
    return jnp.stack([jnp.stack(row, axis=-1) for row in rows], axis=-2)


@whole("inverse")
def rotated(quat: Array, vectors: Array, inverse: bool) -> Array:
    """Vectors turned."""
    turn = matrix(quat)
    turn = jnp.swapaxes(turn, -1, -2) if inverse else turn
    return jnp.sum(turn * vectors[..., None, :], axis=-1)


@whole()
def magnitude(quat: Array) -> Array:
    """The angle, from 0 to pi."""
    return 2 * jnp.arctan2(_length(quat[..., :3]), jnp.abs(quat[..., 3]))


def _length(v: Array) -> Array:
    """The norm, with a derivative of 0 at 0."""
    square = jnp.sum(v * v, axis=-1)
    none = square == 0
    return jnp.where(none, 0, jnp.sqrt(jnp.where(none, 1, square)))


@whole()
def of_matrix(m: Array) -> Array:
    """Of an orthogonal matrix: from the largest of the four parts, for accuracy (Shepperd 1978)."""
    x, y, z = (m[..., i, i] for i in range(3))
    trace = x + y + z

    def off(i: int, j: int, sign: int) -> Array:
        return m[..., i, j] + sign * m[..., j, i]

    candidates = [
        [1 - trace + 2 * x, off(1, 0, 1), off(2, 0, 1), off(2, 1, -1)],
        [off(1, 0, 1), 1 - trace + 2 * y, off(2, 1, 1), off(0, 2, -1)],
        [off(2, 0, 1), off(2, 1, 1), 1 - trace + 2 * z, off(1, 0, -1)],
        [off(2, 1, -1), off(0, 2, -1), off(1, 0, -1), 1 + trace],
    ]
    choice = jnp.argmax(jnp.stack([x, y, z, trace], axis=-1), axis=-1)[..., None]
    found = jnp.stack(candidates[3], axis=-1)
    for i in range(3):
        found = jnp.where(choice == i, jnp.stack(candidates[i], axis=-1), found)
    return normalized(found)


@whole("degrees")
def of_vector(vector: Array, degrees: bool) -> Array:
    """Of vectors along axes, as long as angles."""
    vector = jnp.deg2rad(vector) if degrees else vector
    half = 0.5 * _length(vector)[..., None]
    # sinc is sin(pi x) / (pi x), smooth at 0.
    scale = 0.5 * jnp.sinc(half / math.pi)
    return jnp.concatenate([scale * vector, jnp.cos(half)], axis=-1)


@whole("degrees")
def vector(quat: Array, degrees: bool) -> Array:
    """Vectors along axes, as long as angles."""
    quat = canonical(quat)
    angle = magnitude(quat)[..., None]
    small = angle <= 1e-3
    square = angle * angle
    safe = jnp.where(small, 1, angle)
    scale = jnp.where(small, 2 + square / 12 + 7 * square * square / 2880, safe / jnp.sin(safe / 2))
    found = scale * quat[..., :3]
    return jnp.rad2deg(found) if degrees else found


@whole()
def of_rodrigues(mrp: Array) -> Array:
    """Of axes times tangents of quarters of angles."""
    square = jnp.sum(mrp * mrp, axis=-1, keepdims=True)
    return jnp.concatenate([2 * mrp, 1 - square], axis=-1) / (1 + square)


@whole()
def rodrigues(quat: Array) -> Array:
    """Axes times tangents of quarters of angles."""
    quat = jnp.where(quat[..., 3:] < 0, -quat, quat)
    return quat[..., :3] / (1 + quat[..., 3:])


@whole("axes", "extrinsic", "degrees")
def of_angles(angles: Array, axes: tuple[int, ...], extrinsic: bool, degrees: bool) -> Array:
    """Rotations around axes one after the other."""
    half = 0.5 * (jnp.deg2rad(angles) if degrees else angles)
    total: Any = None
    for i, axis in enumerate(axes):
        parts = [jnp.zeros_like(half[..., i])] * 3
        parts[axis] = jnp.sin(half[..., i])
        turn = jnp.stack([*parts, jnp.cos(half[..., i])], axis=-1)
        if total is None:
            total = turn
        else:
            total = composed(turn, total) if extrinsic else composed(total, turn)
    return total


@whole("axes", "extrinsic", "degrees")
def angles(quat: Array, axes: tuple[int, ...], extrinsic: bool, degrees: bool) -> Array:
    """Angles around three axes.

    Source: Bernardes & Viollet 2022, "Quaternion to Euler angles conversion: a direct, general and
    computationally efficient method".
    """
    i, j, k = axes if extrinsic else axes[::-1]
    symmetric = i == k
    k = 3 - i - j if symmetric else k
    sign = (i - j) * (j - k) * (k - i) // 2
    parts = [quat[..., n] for n in range(4)]
    a, b, c, d = parts[3], parts[i], parts[j], parts[k] * sign
    if not symmetric:
        a, b, c, d = a - c, b + d, c + a, d - b
    middle = 2 * jnp.arctan2(jnp.hypot(c, d), jnp.hypot(a, b))
    low, high = jnp.abs(middle) <= 1e-7, jnp.abs(middle - math.pi) <= 1e-7
    plus, minus = jnp.arctan2(b, a), jnp.arctan2(d, c)
    one, other = plus - minus, plus + minus
    scale = 1 if symmetric else sign
    locked = jnp.where(low, 2 * plus, 2 * minus * (-1 if extrinsic else 1))
    locked = locked if extrinsic else locked * scale
    first, third = (one, other * scale) if extrinsic else (other * scale, one)
    stuck = low | high
    first, third = jnp.where(stuck, locked, first), jnp.where(stuck, 0, third)
    middle = middle if symmetric else middle - math.pi / 2
    found = jnp.stack([first, middle, third], axis=-1)
    found = jnp.where(found < -math.pi, found + 2 * math.pi, found)
    found = jnp.where(found > math.pi, found - 2 * math.pi, found)
    return jnp.rad2deg(found) if degrees else found


@whole()
def mean(quat: Array, weights: Any) -> Array:
    """The first eigenvector of the weighted sum of `q q^T`."""
    weighted = quat * weights[..., None]
    _, vectors = jnp.linalg.eigh(jnp.matmul(weighted.T, quat, precision="highest"))
    return vectors[:, -1]
