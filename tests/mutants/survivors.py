"""Mutants that no law finds, and why."""

TOO_LARGE = "a larger pattern is sound, and nothing says how tight it is where the Jacobian is zero"

SURVIVORS: dict[str, dict[str, str]] = {}
