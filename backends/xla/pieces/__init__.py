"""Long programs as functions that XLA compiles one by one.

XLA inlines every function, and fuses a cheap operation into each of its uses. In an unrolled model,
where each layer adds to what the one before gave, operations are so repeated in the fusions of all
later layers: compile time grows faster than depth, and the work is done as often. A program of
which that is to be expected is cut into functions that XLA is told to keep, across whose borders it
fuses nothing: layers, where equations repeat, and else stretches between which few values pass.
What XLA makes of one layer it finds again for the others. So it does for the steps of an unrolled
loop, if their slices are calls of one function (`slices`) and not each a kernel of its own, and
so few products are left of what a gradient adds up (`sums`).
"""
