"""Checks answered by a handler that threads what failed; see `checking`."""
