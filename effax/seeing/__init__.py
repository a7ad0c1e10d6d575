"""Seeing programs, and what handlers do with them.

`visualize` draws a program; `explain` tells who took each effect; `stepper` makes a page of it to
go through step by step; `python_source` writes a program as Python that runs.
"""
