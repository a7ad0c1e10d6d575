"""Mutants that no law finds, and why; a reason that nobody has shown says so."""

NO_NAN = "NaN comes only of NaN, and the reference's LAPACK takes no matrix that has it"
MOVED = "what is moved to a place was NaN before: checked for JAX's sake, and no law asks for it"

SURVIVORS: dict[str, dict[str, str]] = {
    "adev": {
        "key begins elsewhere": "an estimate from another key is as good, and choices that are enumerated need none"
    },
    "checkify": {
        **{
            f"{name}: NaN check dropped": NO_NAN
            for name in ("schur", "hessenberg", "tridiagonal", "pivoted_qr", "svd", "eig")
        },
        **{
            f"{name}: NaN check dropped": MOVED
            for name in ("scatter", "scatter_min", "scatter_max")
        },
        "bitcast_convert_type: result scaled": "one more is less than what comparisons of such large numbers see",
    },
    "crown": {
        "extremum: operands swapped": (
            "max(y, x) is max(x, y): the bounds are right, and no law says which order gives tighter ones"
        ),
    },
    "transpose": {
        "sub: cotangents turned": (
            "supposed, not shown: the laws reach this rule only by `linear_transpose`, and the programs drawn for it with "
            "more than one row subtract a value from itself"
        ),
        "convert_element_type: cotangents scaled": (
            "seen only in cotangents that are no floats, one more by `scaled`; which law should say "
            "so is open"
        ),
    },
}
