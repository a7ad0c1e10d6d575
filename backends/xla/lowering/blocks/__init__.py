"""Kernels as programs of blocks, for compilers of kernels: Triton's for GPUs, Mosaic for TPUs."""
