"""Mutants that no law finds, and why; a reason that nobody has shown says so."""

NO_NAN = "NaN comes only of NaN, and the reference's LAPACK takes no matrix that has it"
MOVED = "what is moved to a place was NaN before: checked for JAX's sake, and no law asks for it"

LARGE = "one more is less than what comparisons of such large numbers see"

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
        "bitcast_convert_type: result scaled": LARGE,
        "threefry2x32: result scaled": LARGE,
    },
    "batch": dict.fromkeys(
        ("bitcast_convert_type: result scaled", "threefry2x32: result scaled"), LARGE
    ),
    "jvp": {"bitcast_convert_type: primal scaled": LARGE},
    "dual": {
        "lift: value scaled": (
            "supposed, not shown: in few programs does a rule that takes lifted operands meet one "
            "without a tangent"
        ),
    },
    "crown": {
        "extremum: operands swapped": (
            "max(y, x) is max(x, y): the bounds are right, and no law says which order gives tighter ones"
        ),
    },
    "sparsity": {
        **dict.fromkeys(
            (f"cond_sets: value {how}" for how in ("scaled", "slightly", "shifted", "turned")),
            "where a predicate depends on the inputs, the value beside the pattern is one branch's, and "
            "stands for none: no law compares it",
        ),
        "while_sets: operands swapped": (
            "supposed, not shown: two operands of one type change places in programs whose carries "
            "all depend on the same input"
        ),
    },
    "transpose": {
        "sub: cotangents turned": (
            "supposed, not shown: the laws reach this rule only by `linear_transpose`, and the programs drawn for it with "
            "more than one row subtract a value from itself"
        ),
    },
}

_NAME = "needs the name of an axis, which laws of whole programs bind"
_HOST = "calls the host: of whole programs, those of the kind `host` do"
_CLAIM = "is a claim about other values: laws of checks make claims about whole programs"
_FOREIGN = "needs code from elsewhere"

UNASKED: dict[str, str] = {
    **dict.fromkeys(
        ("psum", "pmax", "pmin", "all_gather", "reduce_scatter", "all_to_all", "ppermute"), _NAME
    ),
    **dict.fromkeys(("axis_index", "pvary", "ragged_all_to_all"), _NAME),
    **dict.fromkeys(
        ("debug_callback", "pure_callback", "io_callback", "sequenced_callback"), _HOST
    ),
    **dict.fromkeys(("check", "debug_check", "detect"), _CLAIM),
    **dict.fromkeys(("exported_call", "foreign_call", "acting_foreign_call"), _FOREIGN),
    "custom_linear": "is made by the library alone, of a rule for reverse mode",
    "dce_sink": "has no result",
    "dimension_as_value": "gives a symbolic length, which programs of the laws do not have",
    "ref_set": "needs a reference: of whole programs, those of the kind `state` have one",
    "rng_bit_generator": "makes in a batch, by definition, other bits than in each lane alone",
    "rng_uniform": "gives other numbers each time",
    "xla_metadata_value": "says something to XLA and changes no value",
    "to_memory": "needs a device with several memories",
    "unstored": "is refused wherever it is performed",
    **dict.fromkeys(
        ("with_sharding_constraint", "reshard", "opened", "sharding_group", "device_put"),
        "needs a mesh of devices",
    ),
}
"""Why no program of one effect performs an effect that has a rule in some column."""
