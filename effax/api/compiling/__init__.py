"""`jit`: functions staged and compiled once for the types of their arguments."""
