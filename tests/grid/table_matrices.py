"""lax.linalg and scipy.linalg on the grid: batched, empty, complex matrices, all flags."""

from __future__ import annotations

from tests.grid import defined
from tests.grid.draw import Grid
from tests.grid.play import Drawer, Entry

FLAGS = ["True", "False"]
LEADS = ((), (), (2,), (0,), (2, 1))


def _dtype(g: Grid) -> str:
    """Of LAPACK's dtypes mostly."""
    if g.chance(6):
        return str(g.pick("float16", "bfloat16", "int32", "bool"))
    wide = ("float64", "complex128") if g.x64 else ()
    return str(g.pick("float32", "complex64", "float32", *wide))


def square(*kinds: str, options: tuple[str, ...] = (), least: int = 0) -> Drawer:
    """One square matrix or a stack of them, with flags."""

    def drawer(g: Grid, name: str) -> str:
        n = g.pick(3, 2, 3, 4, 1, *((0,) if least == 0 else ()))
        lead = g.pick(*LEADS)
        if g.usually(97):
            a = g.array((*lead, n, n), _dtype(g), *kinds)
        else:
            a = g.array((*lead, n, n + 1), _dtype(g), "normal")
        return f"{name}({a}{g.words(**{o: FLAGS for o in options})})"

    return drawer


def oblong(*kinds: str, options: tuple[str, ...] = ()) -> Drawer:
    def drawer(g: Grid, name: str) -> str:
        shape = (*g.pick(*LEADS), *g.pick((3, 2), (2, 3), (3, 3), (4, 2), (1, 1), (0, 2), (2, 0)))
        a = g.array(shape, _dtype(g), *kinds)
        return f"{name}({a}{g.words(**{o: FLAGS for o in options})})"

    return drawer


def single(*kinds: str, **options: list[str]) -> Drawer:
    """One matrix, never a stack."""

    def drawer(g: Grid, name: str) -> str:
        n = g.integer(1, 4)
        return f"{name}({g.array((n, n), _dtype(g), *kinds)}{g.words(**options)})"

    return drawer


def triangular(g: Grid, name: str) -> str:
    dtype, lead, n, k = _dtype(g), g.pick(*LEADS), g.pick(3, 2, 1, 0), g.pick(2, 1, 0)
    left = g.pick(True, False)
    a = g.array((*lead, n, n), dtype, "regular")
    b = g.array((*lead, n, k) if left else (*lead, k, n), dtype, "normal")
    names = ("lower", "transpose_a", "conjugate_a", "unit_diagonal")
    return f"{name}({a}, {b}, left_side={left}{g.words(**{o: FLAGS for o in names})})"


def updated(g: Grid, name: str) -> str:
    dtype = g.pick("float32", "float64" if g.x64 else "float32")
    a, w = g.array((3, 3), dtype, "definite"), g.array((3,), dtype, "normal")
    return f"{name}(jnp.linalg.cholesky({a}, upper=True), {w})"


def reflected(g: Grid, name: str) -> str:
    """The factors that a QR decomposition leaves."""
    dtype, lead = _dtype(g), g.pick(*LEADS)
    a = g.array((*lead, 3, g.pick(2, 3)), dtype, "normal")
    k = g.shape_of(a)[-1]
    t = g.array((*lead, k), dtype, "unit")
    if name.endswith("householder_product"):
        return f"{name}({a}, {t})"
    left = g.pick(True, False)
    c = g.array((*lead, 3, 2) if left else (*lead, 2, 3), dtype, "normal")
    return f"{name}({a}, {t}, {c}, left={left}{g.words(transpose=FLAGS)})"


def permuted(g: Grid, name: str) -> str:
    n = g.integer(1, 4)
    pivots = [g.integer(i, n - 1) for i in range(g.integer(1, n))]
    return f"{name}(jnp.array({pivots}, dtype='int32'), {n})"


def banded(g: Grid, name: str) -> str:
    dtype, lead, n = _dtype(g), g.pick((), (), (2,)), g.integer(1, 4)
    low, up = g.array((*lead, n), dtype, "unit"), g.array((*lead, n), dtype, "unit")
    d = g.array((*lead, n), dtype, "positive")
    return f"{name}({low}, {d}, {up}, {g.array((*lead, n, 2), dtype, 'normal')})"


def symmetric_product(g: Grid, name: str) -> str:
    dtype = _dtype(g)
    a, c = g.array((3, 2), dtype, "normal"), g.array((3, 3), dtype, "definite")
    return f"{name}({a}, {c}{g.words(alpha=['2.0'], beta=['0.5'], symmetrize_output=FLAGS)})"


def solves(g: Grid, name: str) -> str:
    """a x = b, for one or several right sides."""
    dtype, n = _dtype(g), g.pick(3, 2, 1)
    word = name.rsplit(".", 1)[1]
    a = g.array((n, n), dtype, "definite" if word == "cho_solve" else "regular")
    b = g.array(g.pick((n,), (n, 2)), dtype if g.usually(90) else "int32", "normal")
    if word == "cho_solve":
        return f"{name}(jsp.linalg.cho_factor({a}{g.words(lower=FLAGS)}), {b})"
    if word == "lu_solve":
        return f"{name}(jsp.linalg.lu_factor({a}), {b}{g.words(trans=['0', '1', '2', '3'])})"
    if word == "solve_triangular":
        words = g.words(trans=["0", "1", "2", "'T'", "'C'"], lower=FLAGS, unit_diagonal=FLAGS)
        return f"{name}({a}, {b}{words})"
    kinds = ["'gen'", "'sym'", "'her'", "'pos'", "'band'"]
    a2 = g.array((n, n), dtype, "definite") if g.chance(50) else None
    return (
        f"{name}({a2 or a}, {b}{g.words(30, assume_a=kinds if a2 else [repr('gen')], lower=FLAGS)})"
    )


def generalized(g: Grid, name: str) -> str:
    dtype, n = _dtype(g), g.integer(1, 4)
    a = g.array((n, n), dtype, "definite")
    b = f", {g.array((n, n), dtype, 'definite')}" if g.chance(30) else ""
    return f"jnp.abs({name}({a}{b}, eigvals_only=True{g.words(lower=FLAGS)}))"


def tridiagonal_values(g: Grid, name: str) -> str:
    dtype, n = g.pick("float32", "float64" if g.x64 else "float32"), g.integer(2, 5)
    select = g.pick(
        "", ", select='i', select_range=(0, 1)", ", select='v', select_range=(-9.0, 9.0)"
    )
    d, e = g.array((n,), dtype, "distinct"), g.array((n - 1,), dtype, "normal")
    return f"{name}({d}, {e}, eigvals_only=True{select if 'v' not in select else ''})"


def sylvester(g: Grid, name: str) -> str:
    dtype = g.pick("float32", "complex64")
    a, b = g.array((3, 3), dtype, "regular"), g.array((2, 2), dtype, "regular")
    return f"{name}({a}, {b}, {g.array((3, 2), dtype, 'normal')})"


def made_of_numbers(g: Grid, name: str) -> str:
    """Matrices that a number names."""
    word = name.rsplit(".", 1)[1]
    n = g.pick(1, 2, 4, 8) if word == "hadamard" else g.integer(1, 5)
    options = {
        "hadamard": {"dtype": ["float", "'int8'"]},
        "helmert": {"full": FLAGS},
        "pascal": {"kind": ["'symmetric'", "'lower'", "'upper'", "'round'"]},
        "invpascal": {"kind": ["'symmetric'", "'lower'", "'upper'"]},
        "dft": {"scale": ["None", "'sqrtn'", "'n'"]},
    }
    return f"{name}({n}{g.words(**options.get(word, {}))})"


def made_of_vectors(g: Grid, name: str) -> str:
    word, dtype = name.rsplit(".", 1)[1], g.dtype("ffic")
    n = g.integer(2, 4)
    a = g.operand((n,), dtype, "positive" if "companion" in word else "normal")
    if word == "leslie":
        return f"{name}({a}, {g.array((n - 1,), dtype, 'normal')})"
    if word == "convolution_matrix":
        return f"{name}({a}, {g.integer(1, 5)}{g.words(mode=[repr('full'), repr('same'), repr('valid')])})"
    if word in ("toeplitz", "hankel") and g.chance(50):
        return f"{name}({a}, {g.array((g.integer(1, 4),), dtype, 'normal')})"
    return f"{name}({a})"


def blocks(g: Grid, name: str) -> str:
    parts = [g.operand(g.shape(0, 2), g.dtype("ifc"), "normal") for _ in range(g.integer(1, 3))]
    return f"{name}({', '.join(parts)})"


def functions(g: Grid, name: str) -> str:
    a = g.array((3, 3), g.pick("float32", "complex64"), "regular")
    return f"{name}({a}, jnp.exp)"


def frechet(g: Grid, name: str) -> str:
    dtype = g.pick("float32", "float64" if g.x64 else "float32")
    a, e = g.array((3, 3), dtype, "unit"), g.array((3, 3), dtype, "normal")
    return f"{name}({a}, {e}{g.words(compute_expm=FLAGS)})"


def multiplied(g: Grid, name: str) -> str:
    dtype = g.pick("float32", "complex64")
    a = g.array((4, 3), dtype, "normal")
    mode = g.pick("left", "right")
    c = g.array((3, 2) if mode == "left" else (2, 4), dtype, "normal")
    return f"{name}({a}, {c}, '{mode}')"


def transformed(g: Grid, name: str) -> str:
    n = g.integer(2, 3)
    return f"{name}(*jsp.linalg.schur({g.array((n, n), 'float32', 'normal')}))"


def _entries(prefix: str, table: dict[str, Drawer], **how: object) -> dict[str, Entry]:
    entry = Entry(square(), wide=False, slack=30, underived=True)._replace(**how)  # type: ignore[arg-type]
    return {
        f"{prefix}.{name}": entry._replace(draw=draw)
        for names, draw in table.items()
        for name in names.split()
    }


TABLE = {
    **_entries(
        "lax.linalg",
        {
            "cholesky": square("definite", "definite", "normal", options=("symmetrize_input",)),
            "lu": oblong("normal", "singular"),
            "qr": oblong("normal", options=("full_matrices",)),
            "svd": oblong("normal", options=("full_matrices",)),
            "eigh": square("definite", options=("lower", "symmetrize_input")),
            "triangular_solve": triangular,
            "cholesky_update": updated,
            "householder_product ormqr": reflected,
            "lu_pivots_to_permutation": permuted,
            "tridiagonal_solve": banded,
            "symmetric_product": symmetric_product,
            "hessenberg tridiagonal": square("definite", least=1),
            "schur": single("regular", compute_schur_vectors=FLAGS),
            "eig": square(
                "regular",
                options=("compute_left_eigenvectors", "compute_right_eigenvectors"),
            ),
            "qdwh": single("regular"),
        },
    ),
    **_entries(
        "jsp.linalg",
        {
            "cholesky cho_factor": square("definite", options=("lower",), least=1),
            "det inv": square("regular", "singular"),
            "lu lu_factor": square("regular", least=1),
            "qr": single("normal", mode=["'full'", "'r'", "'economic'", "'raw'"], pivoting=FLAGS),
            "svd": oblong("normal", options=("full_matrices", "compute_uv")),
            "solve cho_solve lu_solve solve_triangular": solves,
            "eigh": generalized,
            "eigh_tridiagonal": tridiagonal_values,
            "expm": square("unit", "normal", options=("upper_triangular",), least=1),
            "expm_frechet": frechet,
            "funm": functions,
            "sqrtm": single("definite"),
            "polar": single("regular", side=["'right'", "'left'"]),
            "schur": single("regular", output=["'real'", "'complex'"]),
            "rsf2csf": transformed,
            "hessenberg": single("regular", calc_q=FLAGS),
            "qr_multiply": multiplied,
            "solve_sylvester": sylvester,
            "hadamard helmert hilbert invhilbert pascal invpascal dft": made_of_numbers,
            "circulant companion fiedler fiedler_companion toeplitz hankel leslie convolution_matrix": (
                made_of_vectors
            ),
            "block_diag": blocks,
        },
    ),
}
TABLE["jsp.linalg.lu"] = TABLE["jsp.linalg.lu"]._replace(more="JAX takes one matrix, effax many")
TABLE["lax.linalg.symmetric_product"] = TABLE["lax.linalg.symmetric_product"]._replace(
    more="JAX takes real matrices only"
)
TABLE["jsp.linalg.hessenberg"] = TABLE["jsp.linalg.hessenberg"]._replace(
    more="JAX takes no integers, effax makes floats of them"
)
for _name in ("lax.linalg.cholesky", "lax.linalg.eigh"):
    TABLE[_name] = TABLE[_name]._replace(less="JAX adds what is no square matrix to its transpose")
for _name in ("lax.linalg.schur", "jsp.linalg.schur", "jsp.linalg.rsf2csf", "lax.linalg.qdwh"):
    TABLE[_name] = TABLE[_name]._replace(smooth=False)
for _name in ("lax.linalg.svd", "jsp.linalg.svd", "lax.linalg.eig", "lax.linalg.eigh"):
    TABLE[_name] = TABLE[_name]._replace(slack=300)
for _name in ("hessenberg", "tridiagonal"):
    TABLE[f"lax.linalg.{_name}"] = TABLE[f"lax.linalg.{_name}"]._replace(underived=True)
for _name in ("lax.linalg.eigh", "jsp.linalg.eigh"):  # complex vectors have any phase
    TABLE[_name] = TABLE[_name]._replace(smooth=False)
for _name, _defined in {
    "lax.linalg.svd": defined.svd,
    "jsp.linalg.svd": defined.svd,
    "lax.linalg.eigh": defined.vectors_first,
    "jsp.linalg.inv": defined.inverse,
    "lax.linalg.schur": defined.schur,
    "jsp.linalg.schur": defined.schur,
    "jsp.linalg.rsf2csf": defined.schur,
}.items():
    TABLE[_name] = TABLE[_name]._replace(defined=_defined)
