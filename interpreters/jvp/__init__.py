"""Forward mode: one cell file a family; carrier and handler in `dual`."""
