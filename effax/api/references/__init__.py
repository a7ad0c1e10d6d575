"""References: arrays that are written in place."""
