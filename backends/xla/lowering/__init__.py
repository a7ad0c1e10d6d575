"""StableHLO for every effect: one file a family, all of them imported by `table`."""
