"""Batching: one cell file a family; carrier and handler in `batched`."""
