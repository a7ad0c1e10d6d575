"""The column that XLA computes: StableHLO text, executables, device arrays.

jaxlib comes from `effects.runtime`, and its private names are used in one file per concern:
`client` and `plugins` (processes and platforms), `device`, `placement` (shardings), `buffer`
(memory of devices and of the host), `compile` and `executable` (programs), `linalg_targets`
(LAPACK).
"""
