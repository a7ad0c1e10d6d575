"""Random keys as values: their arrays, their trees, and the functions that take them."""
