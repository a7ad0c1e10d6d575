"""Functions mapped over axes: of arrays, and of devices."""
