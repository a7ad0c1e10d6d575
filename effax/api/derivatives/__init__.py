"""Derivatives, forward and reverse, and what reverse mode keeps."""
