"""Arguments of public functions, converted for effects: array-likes, axes, dtypes, promotion."""
