"""The rest of scipy on the grid: signal, fft, ndimage, integrate, interpolate, optimize, ..."""

from __future__ import annotations

from tests.grid.draw import Grid
from tests.grid.play import Drawer, Entry

FLAGS = ["True", "False"]
MODES = ["'full'", "'same'", "'valid'", "'half'"]


def convolved(g: Grid, name: str) -> str:
    dtype = g.dtype("fffci")
    n = 2 if name.endswith("2d") else g.pick(1, 1, 2)
    a = g.array(tuple(g.integer(3, 5) for _ in range(n)), dtype, "normal")
    b = g.array(
        tuple(g.integer(1, 3) for _ in range(n)), dtype if g.usually(80) else "int32", "normal"
    )
    options = {"mode": MODES}
    if name.endswith(("convolve", "correlate")) and "fft" not in name:
        options["method"] = ["'direct'", "'fft'", "'auto'"]
    return f"{name}({a}, {b}{g.words(**options)})"


def trended(g: Grid, name: str) -> str:
    a = g.array(g.pick((6,), (2, 6), (6, 2)), g.dtype("ffi"), "normal")
    words = g.words(type=["'linear'", "'constant'", "'cubic'"], bp=["2", "[2, 4]"])
    return f"{name}({a}{g.words(axis=lambda: g.axis(a))}{words})"


def spectral(g: Grid, name: str) -> str:
    dtype = g.pick("float32", "float32", "complex64", *(("float64",) if g.x64 else ()))
    a = g.array(g.pick((20,), (2, 20)), dtype, "normal")
    first = f"{a}, {g.array(g.shape_of(a), 'float32', 'normal')}" if name.endswith("csd") else a
    options = {
        "fs": ["2.0"],
        "window": ["'hann'", "'boxcar'", "'hamming'"],
        "noverlap": ["2", "3"],
        "nfft": ["8", "16"],
        "detrend": ["False", "'constant'", "'linear'"],
        "return_onesided": FLAGS if g.last().dtype != "complex64" else ["False"],
        "scaling": ["'spectrum'", "'density'"]
        if not name.endswith("stft")
        else ["'spectrum'", "'psd'"],
        "axis": ["-1"],
    }
    if not name.endswith("stft"):
        options["average"] = ["'mean'", "'median'"]
    else:
        options |= {"boundary": ["None", "'zeros'", "'even'"], "padded": FLAGS}
    return f"{name}({first}, nperseg={g.pick(4, 8)}{g.words(25, **options)})"


def inverse(g: Grid, name: str) -> str:
    a = g.array(g.pick((20,), (2, 24)), "float32", "normal")
    n = g.pick(4, 8)
    return f"{name}(jsp.signal.stft({a}, nperseg={n})[2], nperseg={n}{g.words(boundary=FLAGS)})"


def cosine(g: Grid, name: str) -> str:
    several = name.endswith("n")
    a = g.array(g.pick((4,), (2, 3), (3, 4), (5,)), g.dtype("fffi"), "normal")
    norms = ["None", "'ortho'", "'backward'"]
    words = g.words(type=["2", "2", "3", "1"], norm=norms)
    words += g.words(20, axes=["(0,)", "(-1,)"]) if several else g.words(axis=lambda: g.axis(a))
    words += g.words(10, **({"s": ["(3,)"]} if several else {"n": ["3", "6"]}))
    return f"{name}({a}{words})"


def mapped(g: Grid, name: str) -> str:
    a = g.array((4, 3), g.dtype("fffic"), "normal")
    x, y = (g.array((5,), "float32", "within:-2:6", "within:0:3") for _ in "xy")
    modes = ["'constant'", "'nearest'", "'mirror'", "'wrap'", "'reflect'", "'odd'"]
    words = g.words(60, mode=modes, cval=["1.5"])
    return f"{name}({a}, [{x}, {y}], {g.pick(0, 1, 1, 2)}{words})"


def trapezoid(g: Grid, name: str) -> str:
    a = g.operand(g.shape(1), g.dtype("bifc"), "normal")
    x = ["0.5"] if g.chance(50) else ["2"]
    return f"{name}({a}{g.words(dx=x, axis=lambda: g.axis(a))})"


def interpolated(g: Grid, name: str) -> str:
    """A grid of two axes, asked inside and outside."""
    dtype = g.dtype("fffc")
    values = g.array((3, 4), dtype, "normal")
    at = g.array((5, 2), "float32", "within:0:2", "within:-1:4")
    words = g.words(method=["'linear'", "'nearest'"])
    outside = g.pick(", bounds_error=False", ", bounds_error=False, fill_value=None")
    points = "(jnp.array([0.0, 1.0, 2.0]), jnp.array([0.0, 0.5, 1.0, 3.0]))"
    return f"{name}({points}, {values}{words}{outside})({at})"


def minimized(g: Grid, name: str) -> str:
    x = g.array((g.integer(1, 3),), g.pick("float32", "float64" if g.x64 else "float32"), "normal")
    function = g.pick("lambda v: jnp.sum((v - 1.0) ** 2)", "lambda v: jnp.sum(jnp.cosh(v))")
    return f"{name}({function}, {x}, method='BFGS'{g.words(tol=['1e-3'])}).x.round(2)"


def solved(g: Grid, name: str) -> str:
    dtype = g.pick("float32", "float64" if g.x64 else "float32", "complex64")
    a, b = g.array((3, 3), dtype, "definite"), g.array((3,), dtype, "normal")
    operator = g.pick(a, f"lambda v: {a} @ v")
    words = g.words(20, x0=[f"jnp.ones_like({b})"], tol=["1e-6"], M=["lambda v: v * 0.5"])
    return f"{name}({operator}, {b}{words})[0]"


def quantized(g: Grid, name: str) -> str:
    dtype = g.dtype("ffi")
    a, b = g.array((5, 2), dtype, "normal"), g.array((3, g.pick(2, 2, 2, 3)), dtype, "distinct")
    return f"{name}({a}, {b})"


def rotated(g: Grid, name: str) -> str:
    """Rotations made in one way and seen in another."""
    lead = g.pick((), (2,))
    form = g.pick("quat", "rotvec", "matrix", "euler", "mrp")
    if form == "quat":
        made = f"from_quat({g.array((*lead, 4), 'float32', 'normal')})"
    elif form == "matrix":
        made = f"from_matrix(jnp.linalg.qr({g.array((*lead, 3, 3), 'float32', 'regular')})[0])"
    elif form == "euler":
        axes = g.pick("xyz", "ZYX", "zxz")
        made = f"from_euler('{axes}', {g.array((*lead, 3), 'float32', 'unit')}{g.words(degrees=FLAGS)})"
    else:
        made = f"from_{form}({g.array((*lead, 3), 'float32', 'unit')})"
    at = g.array((3,), "float32", "normal")
    seen = g.pick(
        "as_quat()", "as_matrix()", "as_rotvec()", "as_mrp()", "as_euler('xyz')", "magnitude()",
        "inv().as_quat()", f"apply({at})", f"apply({at}, inverse=True)", "as_quat(canonical=True)",
    )  # fmt: skip
    return f"jnp.abs({name}.{made}.{seen})"


def slerped(g: Grid, name: str) -> str:
    q = g.array((3, 4), "float32", "normal")
    made = f"jsp.spatial.transform.Rotation.from_quat({q})"
    t = g.array((4,), "float32", "within:0:3")
    return (
        f"jnp.abs({name}.init(jnp.array([0.0, 1.0, 3.0], dtype='float32'), {made})({t}).as_quat())"
    )


def _entries(table: dict[str, Drawer], **how: object) -> dict[str, Entry]:
    entry = Entry(convolved, wide=False, slack=30)._replace(**how)  # type: ignore[arg-type]
    return {
        f"jsp.{name}": entry._replace(draw=draw)
        for names, draw in table.items()
        for name in names.split()
    }


NARROW = "JAX transforms no small floats, effax makes wide ones of them"
TABLE = {
    **_entries(
        {
            "signal.convolve2d signal.correlate2d": convolved,
            "signal.detrend": trended,
            "signal.welch signal.csd signal.stft": spectral,
            "signal.istft": inverse,
            "fft.dct fft.idct fft.dctn fft.idctn": cosine,
        }
    ),
    **_entries({"integrate.trapezoid": trapezoid}, more="of nothing the integral is 0"),
    **_entries(
        {"signal.convolve signal.correlate signal.fftconvolve": convolved},
        more=NARROW,
    ),
    **_entries(
        {
            "ndimage.map_coordinates": mapped,
            "interpolate.RegularGridInterpolator": interpolated,
            "cluster.vq.vq": quantized,
            "spatial.transform.Rotation": rotated,
            "spatial.transform.Slerp": slerped,
        },
        smooth=False,
    ),
    **_entries(
        {
            "optimize.minimize": minimized,
            "sparse.linalg.cg sparse.linalg.gmres sparse.linalg.bicgstab": solved,
        },
        smooth=False,
        slack=1000,
    ),
}
