"""StableHLO for every effect: one file for each family, imported when the family is first used."""
