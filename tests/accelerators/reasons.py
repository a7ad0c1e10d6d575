"""Why some programs cost more than JAX's: patterns of `family | chip | which | program | figure`.

The first that is found counts.
"""

from __future__ import annotations

from typing import Final

REASONS: Final[list[tuple[str, str]]] = [
    (
        r"cum(prod|max|logsumexp)\(.*gradient|gradient.*cum(prod|max|logsumexp)\(",
        "the running fold is a window, whose every addend is counted; JAX's is a tree of slices",
    ),
    (r"approx_min_k", "negated before and after, to be the search for the largest"),
    (
        r"gradient.*polyval\(",
        "coefficients are read one by one, so that their gradients are written one by one",
    ),
    (
        r"H200.*linalg\.(svd|svdvals|cond|norm|matrix_rank|lstsq)\(",
        "a NaN is looked for in each matrix, whose singular vectors cuSOLVER gives as numbers",
    ),
    (r"linalg\.(slogdet|det)\(", "the diagonal is a sum under a mask, which fuses; JAX gathers it"),
    (
        r"trapezoid\(",
        "the sum of all less half of both ends; JAX's of all pairs takes a CPU several times as long",
    ),
    (r"jnp\.(roll|extract)\(", "gathers at places that are known when the program runs"),
    (r"jnp\.insert\(", "places are sorted and gathered, as they may be several and alike"),
    (r"jnp\.isin\(", "a binary search in sorted values; JAX compares all pairs"),
    (r"jnp\.diag\(", "a padding with steps; JAX writes the elements of a diagonal"),
    (r"fill_diagonal", "a comparison of places over the whole array; JAX writes the diagonal"),
    (r"maximum\.accumulate", "a window over the axis; JAX's is a scan"),
    (r"argwhere|jnp\.where\(a > 0, size", "places are counted by a window, then scattered"),
    (
        r"scaled_matmul",
        "a product of widened operands; JAX calls cuDNN, whose flops are not counted",
    ),
    (
        r"linalg\.qr\(a, pivoting=True\)",
        "a loop of effects; JAX calls LAPACK on the host, whose costs are not counted",
    ),
    (
        r"householder_product|cholesky_update",
        "written out; JAX calls cuSOLVER or a kernel, whose costs are not counted",
    ),
    (
        r"\.apply\(",
        "visits are counted first, so that the function is one of whole arrays under all transforms",
    ),
    (
        r"nanmean\(",
        "elements are counted as integers, exactly beyond 2^24, apart from their sum",
    ),
    (
        r"toeplitz|hankel",
        "a gather; cutting a repeated vector in rows takes the CPU three times as long",
    ),
    (
        r"quantile|median",
        "elements of the sorted rows are gathered, which a TPU does one by one",
    ),
    (r"digamma|polygamma|zeta\(", "a loop till the series has converged; JAX adds a fixed number"),
    (
        r"expm\(",
        "one approximation of the highest degree, without a branch for matrices of small norm",
    ),
    (
        r"gmres\(",
        "the small least squares are solved by singular values; JAX's normal equations square their "
        "condition",
    ),
    (
        r"gaussian_kde",
        "points are subtracted before they are divided by the spread, which is exact far from zero",
    ),
    (
        r"a\.at\[:, b\]\.max\(c\)",
        "shares of equal elements are quotients over the whole array; JAX takes them at the places",
    ),
    (r"vq\.vq\(", "the nearest distance is picked under a mask over all, and nothing is gathered"),
    (r"random\.binomial\(", "the loop of rejection carries three vectors more"),
    (
        r"random\.(gamma|beta|dirichlet|t)\(",
        "loops over whole vectors; of JAX's, over single elements, one turn is counted",
    ),
    (r"stft\(", "frames are cut within both products; JAX gathers them in a loop"),
    (
        r"fft\.rfftn\(",
        "half the bytes of JAX's: two transforms with more flops, for three with turns between",
    ),
    (
        r"pinv\(",
        "by projections onto both ranges, in fewer passes on a TPU; JAX's has a formula for tall ones",
    ),
    (r"jnp\.exp\(a\) / b", "half the flops of JAX's, in one pass more"),
    (
        r"linalg\.solve\(a, b\)",
        "as many flops as JAX's, with three copies more between the triangular solves",
    ),
    (
        r"lax\.scan\(.*unroll",
        "each of the unrolled steps reads its own row; JAX reads a block and cuts it",
    ),
    (
        r"gradient.*dot_product_attention",
        "softmax is kept for its gradient; XLA computes JAX's twice",
    ),
    (r"lax\.cond\(", "two copies more, of what the branches are given"),
    (r"jnp\.place\(", "places are counted by a sum over windows of the whole vector"),
    (r"sort\(|jnp\.sort, 1", "places of both axes are compared with their bounds; JAX's of one"),
    (r"\.at\[b\]\.set", "fewer flops than JAX's, with one copy more"),
    (r"fftshift|value.*dot_product_attention", "one fusion more than JAX's"),
    (
        r"^(elementwise|special|nn|random|reduction|shape)[^|]*\|.*\| flops$",
        "more arithmetic per element, in loops that memory bounds",
    ),
]
