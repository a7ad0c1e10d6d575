"""The reference backend: every effect defined by NumPy, the oracle of differential tests."""
