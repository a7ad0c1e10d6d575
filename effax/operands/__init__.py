"""What callers give, made what effects take: array-likes, axes, dtypes, and their promotion."""
