"""The functor: handlers carried through calls, branches, loops, references and kernels."""
