"""Small libraries on top of the rest, as examples of its use."""
