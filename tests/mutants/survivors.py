"""Mutants that no law finds, and why; a reason that nobody has shown says so."""

LARGER = (
    "supposed, not shown: the rule is met at floor, sign and their kin, whose derivative is zero; any "
    "pattern has all of it, and no law says how tight one is"
)

SURVIVORS: dict[str, dict[str, str]] = {
    "adev": {
        "key begins elsewhere": "an estimate from another key is as good, and choices that are enumerated need none"
    },
    "crown": {
        "extremum: operands swapped": (
            "max(y, x) is max(x, y): the bounds are right, and no law says which order gives tighter ones"
        ),
    },
    "local_sparsity": {
        f"decided: {kind}": LARGER
        for kind in ("sets scaled", "sets shifted", "sets forgotten", "value forgotten")
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
