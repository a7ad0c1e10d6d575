"""Programs with rules of the user's, carried through any handler."""
