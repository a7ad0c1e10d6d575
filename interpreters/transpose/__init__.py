"""Transposition: one cell file a family; the walk backwards in `linear`."""
