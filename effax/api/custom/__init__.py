"""Functions whose derivatives, or meanings, are given by users."""
