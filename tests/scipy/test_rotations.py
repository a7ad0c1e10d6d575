"""Rotations and their interpolation against SciPy's."""

import numpy as np
import pytest
import scipy.spatial.transform as theirs

import effax
import effax.numpy as jnp
from effax.scipy.spatial.transform import Rotation, Slerp

random = np.random.default_rng(2)
MANY = random.normal(size=(6, 4))
MANY /= np.linalg.norm(MANY, axis=1, keepdims=True)
QUATS = [MANY, MANY[0], np.array([0, 0, 0, 1.0]), np.array([1.0, 0, 0, 0])]


@pytest.fixture(autouse=True)
def _double_precision():
    with effax.enable_x64(True):
        yield


def close(found, wanted, tolerance=1e-9):
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=tolerance, atol=tolerance)


def same(found, wanted):
    """One rotation has two quaternions."""
    found, wanted = np.atleast_2d(found.quat), np.atleast_2d(wanted.as_quat())
    close(np.abs(np.sum(found * wanted, axis=-1)), 1)


@pytest.mark.parametrize("quat", QUATS, ids=["batch", "one", "identity", "half turn"])
def test_forms(quat):
    ours, reference = Rotation.from_quat(3 * quat), theirs.Rotation.from_quat(3 * quat)
    assert ours.single == reference.single
    close(ours.as_quat(), reference.as_quat())
    close(ours.as_quat(canonical=True), reference.as_quat(canonical=True))
    close(ours.as_quat(scalar_first=True), np.roll(reference.as_quat(), 1, axis=-1))
    close(ours.as_matrix(), reference.as_matrix())
    close(ours.as_mrp(), reference.as_mrp())
    close(ours.as_rotvec(), reference.as_rotvec())
    close(ours.as_rotvec(degrees=True), reference.as_rotvec(degrees=True))
    close(ours.magnitude(), reference.magnitude())
    same(ours.inv(), reference.inv())
    same(Rotation.from_matrix(reference.as_matrix()), reference)
    same(Rotation.from_mrp(reference.as_mrp()), reference)
    same(Rotation.from_rotvec(reference.as_rotvec(degrees=True), degrees=True), reference)


@pytest.mark.parametrize("seq", ["xyz", "XYZ", "zxz", "ZYX", "YZY", "yxz"])
def test_angles(seq):
    angles = random.uniform(-1, 1, (5, 3))
    reference = theirs.Rotation.from_euler(seq, angles)
    ours = Rotation.from_euler(seq, angles)
    same(ours, reference)
    close(ours.as_euler(seq), reference.as_euler(seq))
    close(ours.as_euler("zyx", degrees=True), reference.as_euler("zyx", degrees=True))
    degrees = Rotation.from_euler(seq, 50 * angles[0], degrees=True)
    same(degrees, theirs.Rotation.from_euler(seq, 50 * angles[0], degrees=True))
    # Where the first and the third axis are one.
    middle = 0 if seq[0] == seq[2] else np.pi / 2
    locked = theirs.Rotation.from_euler(seq, [0.3, middle, 0.1])
    with pytest.warns(UserWarning, match="Gimbal"):
        wanted = locked.as_euler(seq)
    close(Rotation.from_quat(locked.as_quat()).as_euler(seq), wanted, 1e-6)


def test_some_axes():
    for seq, angles in (("x", 0.3), ("x", [[0.3], [0.4]]), ("xy", [0.1, 0.2])):
        same(Rotation.from_euler(seq, jnp.array(angles)), theirs.Rotation.from_euler(seq, angles))
    for seq, angles in (("xq", 2), ("xY", 2), ("xyzx", 4), ("", 1), ("xyz", 2)):
        with pytest.raises(ValueError):
            Rotation.from_euler(seq, np.ones(angles))
    for seq in ("xx", "xxy", "XyZ"):
        with pytest.raises(ValueError):
            Rotation.identity().as_euler(seq)


def test_composition():
    ours, reference = Rotation.from_quat(MANY), theirs.Rotation.from_quat(MANY)
    same(ours * ours[2], reference * reference[2])
    same(ours * ours.inv(), reference * reference.inv())
    vectors = random.normal(size=(6, 3))
    for inverse in (False, True):
        close(ours.apply(vectors, inverse), reference.apply(vectors, inverse))
        close(ours.apply(vectors[0], inverse), reference.apply(vectors[0], inverse))
        close(ours[1].apply(vectors, inverse), reference[1].apply(vectors, inverse))
    same(ours.mean(), reference.mean())
    weights = np.arange(1, 7)
    same(ours.mean(weights), reference.mean(weights))
    assert len(ours) == 6 and len(list(ours)) == 6
    same(
        Rotation.concatenate([ours[0], ours]),
        theirs.Rotation.concatenate([reference[0], reference]),
    )
    with pytest.raises(TypeError, match="no len"):
        len(ours[0])
    with pytest.raises(TypeError, match="not subscriptable"):
        ours[0][0]
    with pytest.raises(TypeError):
        ours * 2
    with pytest.raises(ValueError):
        ours.apply(vectors[:2])


def test_identity_and_random():
    same(Rotation.identity(), theirs.Rotation.identity())
    assert Rotation.identity(3, dtype="float32").quat.shape == (3, 4)
    drawn = Rotation.random(effax.random.key(0), 4000)
    close(jnp.linalg.norm(drawn.quat, axis=-1), 1)
    # Uniform: the mean of the matrices is zero.
    close(jnp.mean(drawn.as_matrix(), axis=0), 0, 0.05)
    assert Rotation.random(effax.random.key(0)).single


def test_transforms():
    turned = effax.jit(lambda r, v: (r * r).apply(v))(Rotation.from_quat(MANY), np.ones(3))
    reference = theirs.Rotation.from_quat(MANY)
    close(turned, (reference * reference).apply(np.ones(3)))
    each = effax.vmap(lambda r: r.as_rotvec())(Rotation.from_quat(MANY))
    close(each, reference.as_rotvec())
    vector = np.array([0.3, -0.2, 0.5])
    there_and_back = effax.jacfwd(lambda v: Rotation.from_rotvec(v).as_rotvec())
    close(there_and_back(vector), np.eye(3))
    # Also where the angle is zero.
    close(there_and_back(np.zeros(3)), np.eye(3))


def test_interpolation():
    times = np.array([0.0, 1, 3, 4, 7, 8])
    ours = Slerp.init(times, Rotation.from_quat(MANY))
    reference = theirs.Slerp(times, theirs.Rotation.from_quat(MANY))
    at = np.array([0, 0.5, 1, 3.7, 7.9, 8])
    same(ours(at), reference(at))
    assert ours(0.5).single
    same(effax.jit(lambda s, t: s(t))(ours, at), reference(at))
    for wrong in ((times[:2], Rotation.from_quat(MANY)), (times[:1], Rotation.from_quat(MANY[0]))):
        with pytest.raises(ValueError):
            Slerp.init(*wrong)
    with pytest.raises(TypeError):
        Slerp.init(times, MANY)


def test_wrong_shapes():
    for make, n in ((Rotation.from_quat, 3), (Rotation.from_rotvec, 2), (Rotation.from_mrp, 4)):
        with pytest.raises(ValueError, match="expected vectors"):
            make(np.ones(n))
    with pytest.raises(ValueError, match="3 x 3"):
        Rotation.from_matrix(np.eye(2))


@pytest.mark.parametrize("size", [1e30, 1e-30, 5e37, 1.5e38])
def test_sizes_of_quaternions_do_not_matter(size):
    """Their squares overflow or vanish in float32, and zeros are no rotation."""
    quat = np.array([[0.5, -0.3, 0.2, 1.0], [-1.0, 0.5, 1.0, 0.25]], "float32")
    found = Rotation.from_quat(jnp.asarray(quat * np.float32(size)))
    wanted = theirs.Rotation.from_quat(quat.astype("float64")).as_quat()
    close(np.abs(np.sum(np.asarray(found.quat) * wanted, axis=-1)), 1, 1e-6)

    def shape(q):
        return jnp.sum(Rotation.from_quat(q).as_matrix() * jnp.arange(9.0).reshape(3, 3))

    slope = effax.grad(shape)(jnp.asarray(quat[0] * np.float32(size)))
    wanted = effax.grad(shape)(jnp.asarray(quat[0], "float64"))
    close(np.asarray(slope, "float64") * size, wanted, 1e-5)
