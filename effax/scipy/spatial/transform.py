"""Rotations of three dimensions, as unit quaternions; interpolation between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import effax.numpy as jnp
from effax import random
from effax.eager.whole import whole
from effax.effects.value import Array, ArrayLike
from effax.numpy.decompositions import floats
from effax.scipy.spatial import quaternions

__all__ = [
    "Rotation",
    "Slerp",
]
__dir__ = __all__.copy


def _floats(name: str, x: Any, length: int) -> Array:
    """The vectors of this length that the last axis holds."""
    (value,) = floats(f"Rotation.{name}", jnp.asarray(x))
    if value.ndim < 1 or value.shape[-1] != length:
        raise ValueError(
            f"Rotation.{name}: expected vectors of length {length}, got shape {value.shape}"
        )
    return value


class Rotation(NamedTuple):
    """One rotation, or a batch of them, as unit quaternions `(x, y, z, w)`: SciPy's class.

    Made by `from_quat`, `from_matrix`, `from_rotvec`, `from_euler`, `from_mrp`, `identity`,
    `random` and `concatenate`. It is a node of trees, so functions under `jit` may take and give
    it. `p * q` is q and then p.

    >>> import effax.numpy as jnp
    >>> from effax.scipy.spatial.transform import Rotation
    >>> turn = Rotation.from_rotvec(jnp.array([0.0, 0.0, jnp.pi]))
    >>> turn.apply(jnp.array([1.0, 2.0, 3.0]))[:2].round(3)
    Array([-1., -2.], dtype=float32)
    """

    quat: Array

    @classmethod
    def from_quat(cls, quat: ArrayLike) -> Rotation:
        """From quaternions, scalar last, of any length but zero."""
        return cls(quaternions.normalized(_floats("from_quat", quat, 4)))

    @classmethod
    def from_matrix(cls, matrix: ArrayLike) -> Rotation:
        """From orthogonal matrices of determinant 1."""
        (x,) = floats("Rotation.from_matrix", jnp.asarray(matrix))
        if x.ndim < 2 or x.shape[-2:] != (3, 3):
            raise ValueError(f"Rotation.from_matrix: expected 3 x 3 matrices, got shape {x.shape}")
        return cls(quaternions.of_matrix(x))

    @classmethod
    def from_rotvec(cls, rotvec: ArrayLike, degrees: bool = False) -> Rotation:
        """From vectors along the axes of rotation, as long as the angles."""
        return cls(quaternions.of_vector(_floats("from_rotvec", rotvec, 3), degrees))

    @classmethod
    def from_mrp(cls, mrp: ArrayLike) -> Rotation:
        """From modified Rodrigues parameters: axes times the tangent of a quarter of the angle."""
        return cls(quaternions.of_rodrigues(_floats("from_mrp", mrp, 3)))

    @classmethod
    def from_euler(cls, seq: str, angles: ArrayLike, degrees: bool = False) -> Rotation:
        """From angles around a sequence of up to 3 axes.

        Axes in lower case stand still (extrinsic), in upper case they turn along (intrinsic). The
        last axis of `angles` is the sequence's; it may be left out for one axis and one angle.
        """
        axes, extrinsic = quaternions.axes_of(seq)
        (x,) = floats("Rotation.from_euler", jnp.asarray(angles))
        x = jnp.atleast_1d(x)
        if x.shape[-1] != len(axes):
            raise ValueError(
                f"Rotation.from_euler: expected {len(axes)} angles along the last axis, one for "
                f"each axis, got shape {x.shape}"
            )
        return cls(quaternions.of_angles(x, axes, extrinsic, degrees))

    @classmethod
    def identity(cls, num: int | None = None, dtype: Any = float) -> Rotation:
        """The rotation that does nothing, `num` times where that is given."""
        one = jnp.array([0, 0, 0, 1], dtype=dtype)
        return cls(one if num is None else jnp.tile(one, (num, 1)))

    @classmethod
    def random(cls, random_key: Array, num: int | None = None) -> Rotation:
        """Rotations of the uniform distribution: one, or `num`."""
        shape = (4,) if num is None else (num, 4)
        return cls(quaternions.normalized(random.normal(random_key, shape)))

    @classmethod
    def concatenate(cls, rotations: Sequence[Rotation]) -> Rotation:
        """One batch of several rotations and batches of them."""
        return cls(jnp.concatenate([jnp.atleast_2d(r.quat) for r in rotations]))

    @property
    def single(self) -> bool:
        """Whether it is one rotation, and no batch."""
        return self.quat.ndim == 1

    def __len__(self) -> int:
        if self.single:
            raise TypeError("Single rotation has no len().")
        return int(self.quat.shape[0])

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, indexer: Any) -> Any:  # a tuple's gives a field
        if self.single:
            raise TypeError("Single rotation is not subscriptable.")
        return Rotation(self.quat[indexer])

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def __mul__(self, other: Any) -> Rotation:
        if not isinstance(other, Rotation):
            return NotImplemented
        return Rotation(quaternions.composed(self.quat, other.quat))

    def inv(self) -> Rotation:
        """The rotation back."""
        return Rotation(quaternions.conjugate(self.quat))

    def apply(self, vectors: ArrayLike, inverse: bool = False) -> Array:
        """Vectors rotated (back, if `inverse`); vectors and rotations broadcast."""
        x = _floats("apply", vectors, 3)
        return quaternions.rotated(self.quat, x, inverse)

    def magnitude(self) -> Array:
        """The angles, from 0 to pi."""
        return quaternions.magnitude(self.quat)

    def as_quat(self, canonical: bool = False, scalar_first: bool = False) -> Array:
        """Quaternions: with positive scalars if `canonical`, which are last unless told."""
        quat = quaternions.canonical(self.quat) if canonical else self.quat
        return jnp.roll(quat, 1, axis=-1) if scalar_first else quat

    def as_matrix(self) -> Array:
        """Orthogonal matrices."""
        return quaternions.matrix(self.quat)

    def as_rotvec(self, degrees: bool = False) -> Array:
        """Vectors along the axes of rotation, as long as the angles."""
        return quaternions.vector(self.quat, degrees)

    def as_mrp(self) -> Array:
        """Modified Rodrigues parameters."""
        return quaternions.rodrigues(self.quat)

    def as_euler(self, seq: str, degrees: bool = False) -> Array:
        """Angles around a sequence of 3 axes, as in `from_euler`.

        The third angle is 0 where only a sum or difference of the first and third is determined.
        """
        if len(seq) != 3:
            raise ValueError(f"Expected 3 axes, got {seq}.")
        axes, extrinsic = quaternions.axes_of(seq)
        if axes[0] == axes[1] or axes[1] == axes[2]:
            raise ValueError(f"Expected consecutive axes to be different, got {seq}")
        return quaternions.angles(self.quat, axes, extrinsic, degrees)

    def mean(self, weights: ArrayLike | None = None) -> Rotation:
        """The rotation nearest to all of a batch, with weights where given."""
        if weights is None:
            weights = jnp.ones(len(self), self.quat.dtype)
        return Rotation(quaternions.mean(self.quat, weights))


class Slerp(NamedTuple):
    """Spherical linear interpolation: rotations at a constant rate between those at some times.

    Made by `Slerp.init(times, rotations)`, and called with times; outside of them the first and
    the last rate go on.

    >>> import effax.numpy as jnp
    >>> from effax.scipy.spatial.transform import Rotation, Slerp
    >>> ends = Rotation.from_euler("z", jnp.array([[0.0], [90.0]]), degrees=True)
    >>> between = Slerp.init(jnp.array([0.0, 1.0]), ends)
    >>> between(jnp.array(0.5)).magnitude()
    Array(0.785398..., dtype=float32)
    """

    times: Array
    timedelta: Array
    rotations: Rotation
    rotvecs: Array

    @classmethod
    def init(cls, times: ArrayLike, rotations: Rotation) -> Slerp:
        """The interpolation of a batch of rotations at ascending times."""
        if not isinstance(rotations, Rotation):
            raise TypeError("`rotations` must be a `Rotation` instance.")
        if rotations.single or len(rotations) == 1:
            raise ValueError("`rotations` must be a sequence of at least 2 rotations.")
        (moments,) = floats("Slerp", jnp.asarray(times))
        moments = moments.astype(rotations.quat.dtype)
        if moments.ndim != 1:
            raise ValueError(f"Expected times to be a vector, got shape {moments.shape}.")
        if moments.shape[0] != len(rotations):
            raise ValueError(
                "Expected number of rotations to be equal to number of timestamps given, got "
                f"{len(rotations)} rotations and {moments.shape[0]} timestamps."
            )
        first, second = Rotation(rotations.quat[:-1]), Rotation(rotations.quat[1:])
        steps = first.inv() * second
        return cls(moments, jnp.diff(moments), first, steps.as_rotvec())

    def __call__(self, times: ArrayLike) -> Rotation:
        """The rotations at these times: one for a number."""
        (moments,) = floats("Slerp", jnp.asarray(times))
        moments = moments.astype(self.times.dtype)
        if moments.ndim > 1:
            raise ValueError("`times` must be at most 1-dimensional.")
        return _between(self, moments)


@whole()
def _between(known: Slerp, times: Array) -> Rotation:
    last = known.timedelta.shape[0] - 1
    place = jnp.clip(jnp.searchsorted(known.times, times, side="right") - 1, 0, last)
    part = (times - known.times[place]) / known.timedelta[place]
    turned = quaternions.of_vector(known.rotvecs[place] * part[..., None], False)
    return Rotation(quaternions.composed(known.rotations.quat[place], turned))
