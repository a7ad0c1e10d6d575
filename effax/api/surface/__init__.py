"""The public names, and what is said of those that are not there."""
