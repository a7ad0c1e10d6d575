"""Public names of these modules that the grid does not draw, each with what tests it instead."""

MODULES = {
    "lax": "jax.lax",
    "lax.linalg": "jax.lax.linalg",
    "nn": "jax.nn",
    "nn.initializers": "jax.nn.initializers",
    "jsp.special": "jax.scipy.special",
    "jsp.linalg": "jax.scipy.linalg",
    "jsp.stats": "jax.scipy.stats",
    "jsp.signal": "jax.scipy.signal",
    "jsp.ndimage": "jax.scipy.ndimage",
    "jsp.optimize": "jax.scipy.optimize",
    "jsp.fft": "jax.scipy.fft",
    "jsp.integrate": "jax.scipy.integrate",
    "jsp.interpolate": "jax.scipy.interpolate",
    "jsp.sparse.linalg": "jax.scipy.sparse.linalg",
    "jsp.cluster.vq": "jax.scipy.cluster.vq",
    "jsp.spatial.transform": "jax.scipy.spatial.transform",
    "random": "jax.random",
    "jax.image": "jax.image",
    "jax.ops": "jax.ops",
    "jax.tree": "jax.tree",
    "jax.tree_util": "jax.tree_util",
    "jax.flatten_util": "jax.flatten_util",
}
_BY_HAND = {
    "an enumeration or a tuple that other functions take": """
        lax.ConvDimensionNumbers lax.ConvGeneralDilatedDimensionNumbers lax.DotDimensionNumbers
        lax.FftType lax.GatherDimensionNumbers lax.GatherScatterMode lax.Precision
        lax.PrecisionLike lax.RaggedDotDimensionNumbers lax.RandomAlgorithm lax.RoundingMethod
        lax.ScatterDimensionNumbers lax.linalg.EigImplementation lax.linalg.EighImplementation
        lax.linalg.SvdAlgorithm lax.AccuracyMode lax.Tolerance lax.DotAlgorithm
        lax.DotAlgorithmPreset jax.image.ResizeMethod nn.initializers.Initializer
        jsp.optimize.OptimizeResults
    """,
    "loops and branches: tests/transforms, tests/laws": """
        lax.cond lax.switch lax.scan lax.fori_loop lax.while_loop lax.map lax.custom_root
        lax.custom_linear_solve lax.platform_dependent lax.composite lax.stage
    """,
    "collectives: tests/parallel": """
        lax.all_gather lax.all_to_all lax.axis_index lax.axis_size lax.pbroadcast lax.pmax
        lax.pcast lax.with_sharding_constraint lax.ragged_all_to_all lax.psend lax.precv
        lax.pmean lax.pmin lax.ppermute lax.pshuffle lax.psum lax.psum_scatter lax.pswapaxes
    """,
    "deprecated in JAX: tests/scipy/test_special_integrals.py": """
        jsp.special.lpmn jsp.special.lpmn_values
    """,
    "groups along any axis: tests/lax/test_ragged.py": "lax.ragged_dot_general",
    "tokens: tests/lax/test_tokens.py": "lax.after_all lax.create_token lax.dce_sink",
    "scaled products: tests/nn/test_scaled.py": """
        lax.scaled_dot nn.get_scaled_dot_general_config nn.scaled_dot_general nn.scaled_matmul
    """,
    "random bits and keys: tests/random": """
        lax.rng_bit_generator lax.rng_uniform random.clone random.key_dtype random.key_impl
    """,
    "classes and registrations of trees: tests/effects/test_tree.py": """
        jax.tree.static jax.tree_util.DictKey jax.tree_util.FlattenedIndexKey
        jax.tree_util.GetAttrKey jax.tree_util.KeyEntry jax.tree_util.KeyPath
        jax.tree_util.Partial jax.tree_util.PyTreeDef jax.tree_util.SequenceKey
        jax.tree_util.default_registry jax.tree_util.flatten_one_level
        jax.tree_util.flatten_one_level_with_keys jax.tree_util.is_tree_node
        jax.tree_util.register_dataclass jax.tree_util.register_pytree_node
        jax.tree_util.register_pytree_node_class jax.tree_util.register_pytree_with_keys
        jax.tree_util.register_pytree_with_keys_class jax.tree_util.register_static
    """,
}
ELSEWHERE = {name: reason for reason, names in _BY_HAND.items() for name in names.split()}
