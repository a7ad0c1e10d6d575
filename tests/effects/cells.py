"""Checks of the cells of one effect, each against something simpler.

XLA against the reference, jvp against central differences, batch against a loop, transpose
against the inner product that defines it.
"""

import itertools
from typing import Any, NamedTuple

import numpy as np

import effax.api.surface.start  # noqa: F401
from effax.api.derivatives.forward import Linearized, jvp_flat
from effax.backends.reference.table import rules as reference_rules
from effax.effects.columns import load
from effax.effects.effect import Effect
from effax.interpreters.batch.batched import Batch, Batched

load("effax.backends.reference")


class Sample(NamedTuple):
    """Good arguments of an effect; `moving` numbers the operands that have derivatives.

    `smooth` is False where the effect has kinks that a central difference would step over.
    """

    effect: Effect
    operands: tuple[Any, ...]
    attributes: dict[str, Any] = {}  # noqa: RUF012
    moving: tuple[int, ...] = ()
    smooth: bool = True

    def __repr__(self) -> str:
        shapes = ",".join("x".join(map(str, np.shape(x))) for x in self.operands)
        return f"{self.effect.name}({shapes})"

    def compute(self, *operands: Any) -> np.ndarray:
        return np.asarray(self.perform(*operands))

    def perform(self, *operands: Any) -> Any:
        return self.effect(*operands, **self.attributes)

    def of_moving(self, *moving: Any) -> list[Any]:
        """The effect as a function of the operands that move."""
        operands = list(self.operands)
        for i, x in zip(self.moving, moving, strict=True):
            operands[i] = x
        return [self.perform(*operands)]


def noise(x: Any, seed: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    x = np.asarray(x)
    values = generator.normal(size=x.shape)
    if x.dtype.kind == "c":
        values = values + 1j * generator.normal(size=x.shape)
    return values.astype(x.dtype)


def check_reference(sample: Sample, tolerance: float = 1e-5) -> None:
    arrays = [np.asarray(x) for x in sample.operands]
    expected = reference_rules[sample.effect](*arrays, **sample.attributes)
    type = sample.effect.result_type(*sample.operands, **sample.attributes)
    found = sample.compute(*sample.operands)
    assert found.shape == type.shape == np.shape(expected)
    assert found.dtype == type.dtype
    np.testing.assert_allclose(
        found, np.asarray(expected).astype(type.dtype), rtol=tolerance, atol=tolerance
    )


def check_jvp(sample: Sample, eps: float = 1e-3, tolerance: float = 2e-2) -> None:
    """Every subset of the moving operands, in one random direction."""
    if not sample.smooth:
        return
    primals = [sample.operands[i] for i in sample.moving]
    for chosen in itertools.product((False, True), repeat=len(primals)):
        if not any(chosen):
            continue
        directions = [
            noise(x, 7 + i) if c else None
            for i, (x, c) in enumerate(zip(primals, chosen, strict=True))
        ]
        value, tangent = jvp_flat(sample.of_moving, primals, directions)
        sides = [
            np.asarray(
                sample.of_moving(
                    *(
                        x if d is None else (x + s * eps * d).astype(x.dtype)
                        for x, d in zip(primals, directions, strict=True)
                    )
                )[0]
            )
            for s in (1, -1)
        ]
        np.testing.assert_allclose(value[0], sample.compute(*sample.operands), rtol=1e-6)
        difference = np.nan_to_num((sides[0] - sides[1]) / (2 * eps))  # fills do not move
        np.testing.assert_allclose(tangent[0], difference, rtol=tolerance, atol=tolerance)


def check_transpose(sample: Sample, tolerance: float = 1e-4) -> None:
    """<ct, J v> = <J' ct, v>, for each operand alone and all together."""
    if not sample.moving:
        return
    for moving in {*((i,) for i in sample.moving), sample.moving}:
        one = sample._replace(moving=moving)
        primals = [sample.operands[i] for i in moving]
        directions = [noise(x, 3 + i) for i, x in enumerate(primals)]
        _, (tangent,) = jvp_flat(one.of_moving, primals, directions)
        linear = Linearized(one.of_moving, primals)
        ct = noise(tangent, 5)
        pulled = linear.pull([ct])
        assert [np.asarray(p).dtype for p in pulled] == [x.dtype for x in primals]
        assert [np.shape(p) for p in pulled] == [x.shape for x in primals]
        there = (ct * np.asarray(tangent)).sum()
        back = sum((np.asarray(p) * d).sum() for p, d in zip(pulled, directions, strict=True))
        np.testing.assert_allclose(there, back, rtol=tolerance, atol=tolerance)


def batched_operand(x: Any, size: int) -> np.ndarray:
    """Different operands of one type: floats perturbed, integers rolled."""
    x = np.asarray(x)
    if x.dtype.kind in "fc":
        return np.stack([x, *(x + noise(x, 11 + i) for i in range(size - 1))])
    return np.stack([np.roll(x, i, axis=None) + (i % 2 if x.ndim == 0 else 0) for i in range(size)])


def check_batch(sample: Sample, size: int = 3, tolerance: float = 1e-4) -> None:
    """Every choice of which operands are batched."""
    for chosen in itertools.product((False, True), repeat=len(sample.operands)):
        if not any(chosen):
            continue
        many = [
            batched_operand(x, size) if c else x
            for x, c in zip(sample.operands, chosen, strict=True)
        ]
        handler = Batch(size=size)
        out = handler.run(
            sample.perform,
            *(Batched(handler, x) if c else x for x, c in zip(many, chosen, strict=True)),
        )
        expected = np.stack(
            [
                sample.compute(*(x[i] if c else x for x, c in zip(many, chosen, strict=True)))
                for i in range(size)
            ]
        )
        assert handler.owns(out)
        np.testing.assert_allclose(out.many, expected, rtol=tolerance, atol=tolerance)
