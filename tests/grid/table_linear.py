"""Linear algebra, contractions, polynomials, windows and Fourier transforms."""

from __future__ import annotations

from tests.grid import defined
from tests.grid.draw import Grid, named
from tests.grid.play import Drawer, Entry
from tests.grid.table_arranging import calls

PRODUCTS = [((2, 3), (3, 2)), ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 0), (0, 3))]
PRODUCTS += [
    ((2, 2, 3), (3, 1)),
    ((2, 1, 3), (2, 3, 2)),
    ((0, 3), (3, 2)),
    ((), (3,)),
    ((2, 3), (2, 3)),
]
PRODUCTS += [((), ()), ((1, 2, 3), (4, 3, 2))]
SQUARES = [(3, 3), (2, 2), (1, 1), (0, 0), (2, 3, 3), (0, 2, 2), (2, 3), (3,)]
MATRICES = [(3, 3), (2, 3), (3, 2), (1, 3), (0, 3), (2, 3, 2), (3, 0), (4,), ()]


def products(pairs: list[tuple[tuple[int, ...], tuple[int, ...]]] = PRODUCTS) -> Drawer:
    def drawer(g: Grid, name: str) -> str:
        first = g.dtype()
        left, right = g.pick(*pairs)
        a = g.operand(left, first, "normal", "few", "edges")
        b = g.operand(right, first if g.chance(70) else g.dtype(), "normal", "few")
        words = ""
        if not name.endswith(
            ("outer", "kron", "matvec", "vecmat", "linalg.vecdot", "linalg.cross")
        ):
            words = g.words(12, preferred_element_type=["'complex64'"])
        return f"{name}({a}, {b}{words})"

    return drawer


def tensors(g: Grid, name: str) -> str:
    left, right, axes = g.pick(
        ((2, 3), (3, 2), "1"),
        ((2, 3), (2, 3), "2"),
        ((2, 3), (2, 3), "((0, 1), (0, 1))"),
        ((2, 3, 2), (3, 2), "([1], [0])"),
        ((2, 3), (3,), "(1, 0)"),
        ((2, 3), (2,), "0"),
        ((2, 3), (2, 3), "1"),
        ((2, 3, 2), (2, 2), "((-1, 0), (0, -1))"),
    )
    first = g.dtype()
    a, b = g.operand(left, first, "normal"), g.operand(right, first if g.chance(75) else g.dtype())
    return f"{name}({a}, {b}{', axes=' + axes if g.chance(85) else ''})"


def cross_products(g: Grid, name: str) -> str:
    left, right = g.pick(
        ((3,), (3,)), ((2, 3), (2, 3)), ((2,), (2,)), ((2, 3), (3,)), ((2,), (3,)), ((4,), (4,))
    )
    first = g.dtype("fc") if g.chance(70) else g.pick("int32", "int8", "bool")
    a, b = (
        g.array(left, first, "normal"),
        g.array(right, first if g.chance(80) else "float32", "normal"),
    )
    words = g.words(axis=["-1", "0", "1"])
    if not name.startswith("jnp.linalg"):
        words += g.words(10, axisa=["0", "-1"], axisb=["0"], axisc=["0"])
    return f"{name}({a}, {b}{words})"


def einsums(g: Grid, name: str) -> str:
    spelled, *shapes = g.pick(
        ("ij,jk->ik", (2, 3), (3, 2)),
        ("ij,jk", (2, 3), (3, 2)),
        ("ii->i", (3, 3)),
        ("ii", (3, 3)),
        ("ij->ji", (2, 3)),
        ("...ij,...jk->...ik", (2, 2, 3), (3, 2)),
        ("i,i->", (3,), (3,)),
        ("i,j->ij", (3,), (2,)),
        ("ij,ij->i", (2, 3), (2, 3)),
        ("ij,j,i->", (2, 3), (3,), (2,)),
        ("ab,bc,cd->da", (2, 3), (3, 2), (2, 2)),
        ("ij->", (2, 3)),
        ("ijj->i", (2, 3, 3)),
        ("...,...", (2, 3), (3,)),
        ("ij,jk->ik", (2, 3), (2, 3)),
        ("ij->iij", (2, 3)),
        ("iij->j", (2, 2, 0)),
    )
    first = g.dtype()
    parts = [g.operand(s, first if g.chance(85) else g.dtype(), "normal", "few") for s in shapes]
    words = g.words(20, optimize=["'optimal'", "'greedy'", "False", "True"])
    words += g.words(10, preferred_element_type=["'float32'"])
    if name.endswith("path"):
        words = g.words(optimize=["'optimal'", "'greedy'"])
    return f"{name}({spelled!r}, {', '.join(parts)}{words})"


def matrices(kinds: str, *codes: str, shapes: list[tuple[int, ...]] = MATRICES) -> Drawer:
    """A call of one matrix, or a stack of some, with values of these kinds (case.KINDS)."""

    def drawer(g: Grid, name: str) -> str:
        shape = g.pick(*shapes)
        wide = ["float64", "complex128"] if g.x64 else []
        chosen = g.pick("float32", "complex64", *wide) if g.chance(75) else g.dtype("bif")
        matrix = len(shape) >= 2
        a = g.array(shape, chosen, *(kinds.split() if matrix else ["normal"]))
        return f"{name}({g.pick(*codes)})".replace("A", a)

    return drawer


def solving(g: Grid, name: str) -> str:
    least = name.endswith("lstsq")
    shape = g.pick((3, 3), (2, 2), (1, 1), (2, 3, 3), (0, 0), (2, 3))
    if least:
        shape = g.pick((3, 3), (3, 2), (2, 3), (4, 2))
    first = g.dtype("fc") if g.chance(80) else g.dtype("bi")
    a = g.array(shape, first, "regular")
    n = shape[-2]
    right = g.pick((n,), (n, 2), (n, 1), (*shape[:-2], n, 2), (n, 0), (5,))
    b = g.array(right, first if g.chance(80) else g.dtype("ifc"), "normal")
    words = g.words(20, numpy_resid=["True"], rcond=["1e-3", "None"]) if least else ""
    return f"{name}({a}, {b}{words})"


def tensor_solving(g: Grid, name: str) -> str:
    a = g.array(
        (2, 3, 6) if name.endswith("solve") else g.pick((6, 2, 3), (4, 4)), g.dtype("f"), "normal"
    )
    if name.endswith("solve"):
        return f"{name}({a}, {g.array((2, 3), g.dtype('f'), 'normal')})"
    return f"{name}({a}, ind={g.pick(1, 1, 0, 2)})"


def chains(g: Grid, name: str) -> str:
    first = g.dtype("ifc")
    shapes = g.pick(
        [(2, 3), (3, 4), (4, 2)], [(3,), (3, 2), (2,)], [(2, 3), (3, 2)], [(2, 3), (2, 3), (3,)]
    )
    return f"{name}([{', '.join(g.array(s, first, 'normal') for s in shapes)}])"


def norms(g: Grid, name: str) -> str:
    kinds = "fc" if "vector" in name else "bifc"  # of integers JAX's vector_norm takes whole roots
    a = g.array(g.shape(), g.dtype(kinds), "normal", "normal", "edges")
    orders = [
        "2",
        "1",
        "jnp.inf",
        "-jnp.inf",
        "0",
        "3",
        "-1",
        "-2",
        "'fro'",
        "'nuc'",
        "None",
        "0.5",
    ]
    axis = {"axis": lambda: g.pick("None", "0", "-1", "(0, 1)", "(-1, -2)", g.axes(a))}
    if name.endswith("matrix_norm"):
        axis = {}
    return f"{name}({a}{g.words(ord=orders, keepdims=['True'], **axis)})"


def polynomials(g: Grid, name: str) -> str:
    first = g.dtype("bifc")
    a = g.operand((g.integer(0, 4),), first, "normal", "few")
    if name.endswith(("polyder", "polyint")):
        words = g.words(m=["1", "2", "0", "-1"])
        return f"{name}({a}{words}{g.words(20, k=['1', '[1, 2]']) if 'int' in name else ''})"
    if name.endswith("polyval"):
        return (
            f"{name}({a}, {g.operand(g.shape(), g.dtype('bifc'), 'normal')}{g.words(unroll=['1'])})"
        )
    b = g.operand((g.integer(1, 4),), first if g.chance(75) else g.dtype("if"), "normal")
    words = g.words(15, trim_leading_zeros=["True"]) if name.endswith(("mul", "div")) else ""
    return f"{name}({a}, {b}{words})"


def roots(g: Grid, name: str) -> str:
    a = g.operand((g.integer(0, 4),), g.dtype("ifc"), "normal", "few")
    return f"{name}({a}{g.words(30, strip_zeros=['False', 'True'])})"


def fits(g: Grid, name: str) -> str:
    n = g.integer(3, 6)
    x = g.array((n,), g.pick("float32", "float64" if g.x64 else "float32"), "distinct")
    y = g.array(g.pick((n,), (n, 2)), g.dtype("f"), "normal")
    words = g.words(25, full=["True"], rcond=["1e-4"]) + g.words(20, cov=["True", "'unscaled'"])
    if g.chance(25):
        words += f", w={g.array((n,), 'float32', 'positive')}"
    return f"{name}({x}, {y}, {g.pick(0, 1, 2, 1, -1)}{words})"


def convolutions(g: Grid, name: str) -> str:
    first = g.dtype("bifc")
    a = g.operand((g.integer(0, 5),), first, "normal", "few")
    b = g.operand((g.integer(1, 4),), first if g.chance(75) else g.dtype("if"), "normal")
    return f"{name}({a}, {b}{g.words(mode=[repr(m) for m in ('same', 'valid', 'full', 'other')])})"


def vandermonde(g: Grid, name: str) -> str:
    a = g.operand(g.pick((3,), (0,), (2, 2)) if g.chance(10) else (3,), g.dtype("bifc"), "normal")
    return f"{name}({a}{g.words(N=['2', '0', '4', '-1'], increasing=['True'])})"


def windows(g: Grid, name: str) -> str:
    return f"{name}({g.pick('5', '1', '0', '8', '2')}{', ' + g.pick('0', '8.6', '14') if 'kaiser' in name else ''})"


def transforms(g: Grid, name: str) -> str:
    word = name.rpartition(".")[2]
    many = word.endswith(("n", "2"))
    a = g.operand(g.shape(1 if not many else 2, 3, empty=False), g.dtype("bifc"), "normal")
    norm = {"norm": [repr(n) for n in ("ortho", "forward", "backward", "other")]}
    if many:
        words = g.words(
            s=["(4, 2)", "(2, 2)", "(3,)", "(0, 1)"], axes=["(0, 1)", "(-1, 0)", "(1,)", "(0, 0)"]
        )
        return f"{name}({a}{words}{g.words(30, **norm)})"
    words = g.words(n=["2", "5", "4", "1", "0", "-1"], axis=lambda: g.axis(a))
    return f"{name}({a}{words}{g.words(30, **norm)})"


def frequencies(g: Grid, name: str) -> str:
    words = g.words(
        30, d=["0.5", "2"], dtype=["'float32'", "'complex64'", "'int32'", "jnp.float16"]
    )
    return f"{name}({g.pick('5', '4', '1', '0', '-1', '8')}{words})"


HERMITIAN = "A + jnp.conj(jnp.matrix_transpose(A)), symmetrize_input=False"
LINALG = {
    "det": Entry(matrices("regular normal singular", "A", shapes=SQUARES), slack=16),
    "slogdet": Entry(
        matrices("regular normal singular", "A", "A, method='qr'", shapes=SQUARES),
        slack=16,
        underived=True,
    ),
    "inv": Entry(
        matrices("regular singular", "A", shapes=SQUARES), slack=64, defined=defined.inverse
    ),
    "cholesky": Entry(matrices("definite", "A", "A, upper=True", shapes=SQUARES), slack=16),
    "eigh": Entry(
        matrices("definite", "A", "A, UPLO='U'", HERMITIAN, shapes=SQUARES),
        slack=64,
        # Signs and phases of vectors are free; tests/linalg asks of values and derivatives.
        wide=False,
        smooth=False,
        defined=defined.eigh,
    ),
    "eigvalsh": Entry(matrices("definite", "A", "A, 'U'", shapes=SQUARES), slack=64),
    "eig": Entry(matrices("normal", "A", shapes=SQUARES), slack=256, underived=True),
    "eigvals": Entry(matrices("normal", "A", shapes=SQUARES), slack=256, underived=True),
    "svd": Entry(
        matrices(
            "normal",
            "A",
            "A, full_matrices=False",
            "A, compute_uv=False",
            "A, False, hermitian=False",
        ),
        slack=256,
        underived=True,
        smooth=False,
        defined=defined.svd,
    ),
    "svdvals": Entry(matrices("normal", "A"), slack=64),
    "qr": Entry(
        matrices("normal", "A", "A, mode='complete'", "A, mode='r'", "A, 'x'"),
        slack=64,
        underived=True,
    ),
    "pinv": Entry(
        matrices("normal singular", "A", "A, rtol=1e-3", "A, hermitian=False"),
        slack=256,
        underived=True,
    ),
    "matrix_rank": Entry(
        matrices("normal singular", "A", "A, 1e-3", "A, tol=0.5", "A, hermitian=False"),
        smooth=False,
    ),
    "matrix_power": Entry(
        matrices("regular", "A, 2", "A, 0", "A, -1", "A, 5", "A, 1.5", shapes=SQUARES), slack=256
    ),
    "cond": Entry(
        matrices("normal", "A", "A, 2", "A, 1", "A, 'fro'", "A, -2", "A, jnp.inf", shapes=SQUARES),
        slack=512,
        defined=defined.condition,
    ),
    "norm": Entry(norms, slack=64),
    "vector_norm": Entry(norms, slack=16),
    "matrix_norm": Entry(norms, slack=64, kinks=True),
    "solve": Entry(solving, slack=64),
    "lstsq": Entry(solving, slack=256, underived=True, more="numpy_resid=True, when traced"),
    "tensorsolve": Entry(tensor_solving, slack=4096),
    "tensorinv": Entry(tensor_solving, slack=4096),
    "multi_dot": Entry(chains, slack=16),
    "tensordot": Entry(tensors),
    "matmul": Entry(products()),
    "outer": Entry(products([((3,), (2,)), ((0,), (2,)), ((2, 2), (3,))])),
    "vecdot": Entry(products([((3,), (3,)), ((2, 3), (3,)), ((2, 3), (2, 3)), ((2,), (3,))])),
    "cross": Entry(cross_products),
    "diagonal": Entry(calls("a", "a, offset=1", "a, offset=-1", least=1)),
    "trace": Entry(calls("a", "a, offset=1", "a, dtype='float32'", least=1)),
    "matrix_transpose": Entry(calls("a")),
}
FOURIER = [
    f"{i}{kind}fft{many}" for kind in ("", "r") for many in ("", "2", "n") for i in ("", "i")
]
TABLE: dict[str, Entry] = {
    **{f"jnp.linalg.{name}": entry for name, entry in LINALG.items()},
    **{
        f"jnp.fft.{name}": Entry(
            transforms, slack=8, more="real transforms of narrow floats", less="no points"
        )
        for name in (*FOURIER, "hfft", "ihfft")
    },
    **dict.fromkeys(["jnp.fft.fftfreq", "jnp.fft.rfftfreq"], Entry(frequencies)),
    **dict.fromkeys(
        ["jnp.fft.fftshift", "jnp.fft.ifftshift"], Entry(calls("a", "a, AXES", "a, axes=AXIS"))
    ),
    **dict.fromkeys(["jnp.dot", "jnp.matmul"], Entry(products())),
    **dict.fromkeys(
        ["jnp.inner"],
        Entry(products([((2, 3), (3,)), ((3,), (3,)), ((), (2,)), ((2, 3), (2, 3)), ((2,), (3,))])),
    ),
    **dict.fromkeys(
        ["jnp.vdot"], Entry(products([((3,), (3,)), ((2, 3), (3, 2)), ((), ()), ((2,), (3,))]))
    ),
    "jnp.vecdot": Entry(products([((3,), (3,)), ((2, 3), (3,)), ((2, 3), (2, 3)), ((2,), (3,))])),
    "jnp.matvec": Entry(
        products([((2, 3), (3,)), ((2, 2, 3), (3,)), ((3,), (3,)), ((2, 3), (2,))])
    ),
    "jnp.vecmat": Entry(
        products([((2,), (2, 3)), ((2, 2), (2, 2, 3)), ((3,), (3,)), ((3,), (2, 3))])
    ),
    "jnp.outer": Entry(products([((3,), (2,)), ((), ()), ((2, 2), (3,)), ((0,), (2,))])),
    "jnp.kron": Entry(
        products([((2, 3), (3, 2)), ((3,), (2,)), ((), (2,)), ((2,), (2, 1, 2)), ((0,), (2,))]),
        more="of Booleans",
    ),
    "jnp.cross": Entry(cross_products),
    "jnp.tensordot": Entry(tensors),
    "jnp.einsum": Entry(einsums),
    "jnp.einsum_path": Entry(einsums, smooth=False, wide=False),
    **dict.fromkeys(["jnp.convolve", "jnp.correlate"], Entry(convolutions)),
    **{
        f"jnp.{name}": Entry(polynomials, slack=8, more="of no coefficients")
        for name in ["polyadd", "polysub", "polymul", "polydiv", "polyder", "polyint", "polyval"]
    },
    "jnp.poly": Entry(matrices("normal", "A", shapes=[(3,), (0,), (1,), (3, 3), (2, 3)]), slack=64),
    "jnp.roots": Entry(roots, slack=512, smooth=False, defined=defined.roots),
    # JAX takes powers in the dtype of x, though y and the result may have more digits.
    "jnp.polyfit": Entry(fits, slack=4096, underived=True, either=True),
    "jnp.vander": Entry(vandermonde, more="of Booleans"),
    **dict.fromkeys(
        named("bartlett blackman hamming hanning kaiser"),
        Entry(windows, slack=16),
    ),
}
