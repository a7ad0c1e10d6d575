"""Suites of libraries' own tests: where their sources are, what is run of each, and why tests fail here."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Suite:
    """The tests of a library, at a tag of its repository."""

    name: str
    repository: str
    tag: str
    tests: tuple[str, ...]
    one_in: int = 1  # which part is run: of large suites, one test in so many
    without: tuple[str, ...] = ()  # files and tests that are not run under either
    environment: tuple[tuple[str, str], ...] = ()


CHAOBRAIN = "https://github.com/chaobrain/"
DEEPMIND = "https://github.com/google-deepmind/"
F0URIEST = "https://github.com/f0uriest/"
KIDGER = "https://github.com/patrick-kidger/"

SUITES = (
    Suite(
        "array-api-extra",
        "https://github.com/data-apis/array-api-extra",
        "693b257",
        ("tests/main",),
        4,
        environment=(("PYTEST_ADDOPTS", "-k jax"),),
    ),
    Suite("autoray", "https://github.com/jcmgray/autoray", "a0392d6", ("tests",), 8),
    Suite("blackjax", "https://github.com/blackjax-devs/blackjax", "1.7.1", ("tests",), 40),
    Suite("brainstate", CHAOBRAIN + "brainstate", "e5eb83c", ("brainstate",), 20),
    Suite("brax", "https://github.com/google/brax", "v0.14.2", ("brax",), 6),
    Suite("chex", DEEPMIND + "chex", "v0.1.92", ("chex",)),
    Suite("diffrax", KIDGER + "diffrax", "v0.7.2", ("test",), 60),
    Suite("dinosaur", "https://github.com/neuralgcm/dinosaur", "31d5527", ("dinosaur",), 12),
    Suite("dm_pix", DEEPMIND + "dm_pix", "ae47829", ("dm_pix",)),
    Suite("dynamax", "https://github.com/probml/dynamax", "cfb005fa", ("dynamax",), 2),
    Suite("e3nn-jax", "https://github.com/e3nn/e3nn-jax", "0.21.0", ("tests",), 20),
    Suite(
        "einops",
        "https://github.com/arogozhnikov/einops",
        "v0.8.2",
        ("einops/tests",),
        environment=(("EINOPS_TEST_BACKENDS", "numpy,jax"),),
    ),
    Suite("einshape", DEEPMIND + "einshape", "d91ab13", ("einshape",), 4),
    Suite("equinox", KIDGER + "equinox", "v0.13.8", ("tests",)),
    Suite("evosax", "https://github.com/RobertTLange/evosax", "d4b41277", ("tests",), 4),
    Suite("flashbax", "https://github.com/instadeepai/flashbax", "1bda7f1", ("flashbax",), 2),
    Suite("flax", "https://github.com/google/flax", "18f8f311", ("tests",), 20),
    Suite("flowjax", "https://github.com/danielward27/flowjax", "v19.1.2", ("tests",), 4),
    Suite("folx", "https://github.com/microsoft/folx", "68bb4eb7", ("test",), 2),
    Suite("gpjax", "https://github.com/JaxGaussianProcesses/GPJax", "v0.13.2", ("tests",), 12),
    Suite("gymnax", "https://github.com/RobertTLange/gymnax", "v1.0.0", ("tests",)),
    Suite("haiku", DEEPMIND + "dm-haiku", "f4d858a", ("haiku",), 40),
    Suite("jax-md", "https://github.com/jax-md/jax-md", "jax-md-v0.2.29", ("tests",), 3),
    Suite("interpax", F0URIEST + "interpax", "v0.3.14", ("tests",)),
    Suite("jaxley", "https://github.com/jaxleyverse/jaxley", "2638cca2", ("tests",), 12),
    Suite("jaxlie", "https://github.com/brentyi/jaxlie", "0b6655f", ("tests",), 8),
    Suite("jaxns", "https://github.com/Joshuaalbert/jaxns", "2f356d6", ("src",), 2),
    Suite("jaxopt", "https://github.com/google/jaxopt", "jaxopt-v0.8.5", ("tests",), 60),
    Suite("jaxtyping", KIDGER + "jaxtyping", "v0.3.11", ("test",)),
    Suite("jraph", DEEPMIND + "jraph", "51f5990", ("jraph",)),
    Suite("jumanji", "https://github.com/instadeepai/jumanji", "v1.1.1", ("jumanji",), 10),
    Suite(
        "keras",
        "https://github.com/keras-team/keras",
        "v3.15.1",
        ("keras",),
        200,
        environment=(("KERAS_BACKEND", "jax"),),
    ),
    Suite("lineax", KIDGER + "lineax", "v0.1.1", ("tests",), 60),
    Suite("mctx", DEEPMIND + "mctx", "b53073f", ("mctx",)),
    Suite("mjx", DEEPMIND + "mujoco", "3.12.0", ("mjx",), 12),
    Suite("netket", "https://github.com/netket/netket", "3b9e1c286", ("test",), 600),
    Suite("numpyro", "https://github.com/pyro-ppl/numpyro", "0b935d48", ("test",), 60),
    Suite("optax", DEEPMIND + "optax", "v0.2.8", ("optax",), 40),
    Suite("optimistix", KIDGER + "optimistix", "v0.1.0", ("tests",), 40),
    Suite("orbax", "https://github.com/google/orbax", "3ff7b24a", ("checkpoint/orbax",), 20),
    Suite("orthax", F0URIEST + "orthax", "v0.2.9", ("tests",), 4),
    Suite("ott", "https://github.com/ott-jax/ott", "0.6.0", ("tests",), 16),
    Suite("penzai", DEEPMIND + "penzai", "v0.2.5", ("tests",), 4),
    Suite("pgx", "https://github.com/sotetsuk/pgx", "079b2d73", ("tests",), 4),
    Suite("quadax", F0URIEST + "quadax", "v0.2.13", ("tests",)),
    Suite("quax", "https://github.com/nstarman/quax", "v0.4.6", ("tests",), 6),
    Suite("saiunit", CHAOBRAIN + "saiunit", "0de117e", ("saiunit",), 20),
    Suite("signax", "https://github.com/anh-tong/signax", "0d991e6", ("tests",)),
    Suite("sympy2jax", KIDGER + "sympy2jax", "71750301", ("tests",)),
    Suite("tinygp", "https://github.com/dfm/tinygp", "v0.3.1", ("tests",)),
)

# Reasons of failures: what is found in `library::test: text`, and what it means. The first that is found counts.
REASONS: tuple[tuple[str, str], ...] = (
    (
        r"IsTraceableTest|test_incorrect_ordering",
        "for names in the type of a jitted function",
    ),
    (r"equinox::tests/test_ad.py::test_aux", "for the last bit of a sum"),
    (r"test_filter_custom_jvp_(no_)?kwargs", "for Python numbers, which jvp makes arrays of"),
    (r"test_buffer_donation", "for the result that takes a donated buffer"),
    (r"test_make_jaxpr", "for the equations of a program"),
    (r"no hijax types", "for JAX's hijax types"),
    (r"test_noinline.*num_lowerings", "for counts of calls of a lowering rule"),
    (
        r"folx::.*(slogdet|test_solve)",
        "for names of calls: linalg's functions are written out here",
    ),
    (r"^quax::", "for rules of primitives in whose place effax performs others"),
    (r"is private to JAX|No module named 'jax\._src", "for private names of JAX"),
)
