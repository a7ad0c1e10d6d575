"""The arguments of a call: trees, signatures, static ones, and what derivatives ask of them."""
