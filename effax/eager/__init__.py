"""The eager engine: calls that nothing but the bottom of the stack answers.

`calls` binds arguments and compiles, `forms` finds calls of jitted functions by their keys, and
`deferred` compiles gradients that nobody jitted. ARCHITECTURE.md tells how they work together.
"""
