"""One file for each family of effects: their signatures, and the facts that hold of them."""
