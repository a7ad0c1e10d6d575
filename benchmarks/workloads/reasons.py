"""Why rows miss their targets, where the workload does not say so itself."""

_PAGES = (
    "XLA is given the same program by both (the optimised HLO of the chain is one fusion); results of megabytes are new pages "
    "at each call, 700 to 3900 faults by the luck of the heap, and the ratio went from 0.25 to 1.9 between rounds and days. "
    "With keep_freed_memory there are no faults (the row on large results: 0.17)"
)
_SAME = "XLA is given the same operation by both; within what other runs differ by (2026-11-21)"

REASONS = {
    "transposed": _PAGES,
    "slow_f": _PAGES,
    "powers": _PAGES,
    "selu": _PAGES,
    "sgd": _PAGES,
    "powers_large": _PAGES,
    "scan_tiny": "the loop is XLA's in both; a call costs 0.3 µs more, and what runs differ by",
    "while_tiny": "the loop is XLA's in both; a call costs 0.3 µs more, and what runs differ by",
    "svd": "the same call of LAPACK, and what runs differ by",
    "fft_back": _SAME,
    "inv": "0.68 in processor time (LU and two triangular solves); on the wall 0.99 to 1.23 of JAX's, whose solves use "
    "both cores; not looked into further",
    "transformer_step_memory": "18.5 MB against 17.2, the same with every fast path off: not taken apart "
    "yet",
    "checked_run_small": "0.85 to 3 times 60 µs in five measurements, JAX's 3.4 to 6; not taken apart yet; at 10^6 elements 1.06",
    "grad_grad_product": "at the limit: 1.65 to 2.04 of autograd in three measurements; not taken apart yet",
}
