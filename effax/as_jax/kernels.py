"""The kernels and kernel languages that come with JAX's Pallas and Mosaic, by module.

Each module is listed with the reason that it is refused for, and with its public names.
`absent.py` makes modules of this table that import, and whose names refuse to be used.
"""

from __future__ import annotations

from typing import Final

_ATTENTION = (
    "effax has none of the kernels that come with Pallas; use effax.nn.dot_product_attention"
)
_FUNCTION = "effax has none of the kernels that come with Pallas; use effax.{}"
_CHIP = "effax's kernels have blocks and index maps, and no words for one chip's units and memories"
_FUSER = "effax does not fuse functions into kernels; call the function on the kernel's operands"
_RANDOM = (
    "effax has none of the kernels that come with Pallas; effax.random has the same generators"
)

_MASKS = (
    "CausalMask ChunkedCausalMask FullMask LocalMask LogicalAnd LogicalOr Mask MultiHeadMask "
    "NumpyMask _ComputableMask make_causal_mask make_chunk_attention_mask "
    "make_local_attention_mask make_random_mask"
)

KERNELS: Final[dict[str, tuple[str, str]]] = {
    "experimental.mosaic": (
        _CHIP,
        "Tiling TpuMemorySpace TpuSideEffectType as_tpu_kernel lower_module_to_custom_call "
        "lowered_as_tpu_kernel",
    ),
    "experimental.mosaic.gpu": (
        _CHIP,
        "AsyncCopyImplementation Barrier BarrierRef ClusterBarrier CollectiveBarrierRef "
        "CopyPartition DialectBarrierRef DynamicSlice FragmentedArray GLOBAL_BROADCAST "
        "LaunchContext LoweringSemantics MMALayouts MemRefTransform OOBFillMode Partition "
        "Partition1D Rounding SemaphoreRef TCGEN05_COL_LAYOUT TCGEN05_LAYOUT TCGEN05_ROW_LAYOUT "
        "TCGEN05_TRANSPOSED_LAYOUT TMABarrier TMA_INDICES_4_LAYOUT TMA_INDICES_LAYOUT TMEM "
        "TMEM_NATIVE_LAYOUT ThreadSubset TileTransform TiledLayout TransposeTransform Union "
        "WGMMAAccumulator WGMMA_COL_LAYOUT WGMMA_LAYOUT WGMMA_LAYOUT_8BIT "
        "WGMMA_LAYOUT_UPCAST_2X WGMMA_LAYOUT_UPCAST_4X WGMMA_ROW_LAYOUT WGMMA_TRANSPOSED_LAYOUT "
        "WGSplatFragLayout WGStridedFragLayout as_gpu_kernel as_torch_gpu_kernel bitwidth "
        "bytewidth c commit_shared copy_tiled debug_print ds fori get_cluster_ref infer_layout "
        "is_known_divisible is_nvshmem_available lower_mgpu_dialect memref_fold memref_reshape "
        "memref_slice memref_transpose memref_unfold memref_unsqueeze mma nanosleep "
        "optimization_barrier query_cluster_cancel single_thread single_thread_predicate "
        "tile_shape tmem_native_layout to_layout_attr try_cluster_cancel warp_idx "
        "warpgroup_barrier warpgroup_idx wgmma when",
    ),
    "experimental.mosaic.gpu.profiler": (
        _CHIP,
        "Cupti OnDeviceProfiler ProfilerSpec measure",
    ),
    "experimental.pallas.fuser": (
        _FUSER,
        "BlockIndexTransform Fusion custom_fusion evaluate fuse fusible get_fusion_values "
        "get_stateful_input_fusion_values get_stateful_output_fusion_values "
        "make_scalar_prefetch_handler pull_block_spec push_block_spec",
    ),
    "experimental.pallas.mosaic_gpu": (
        _CHIP,
        "ACC Barrier BlockSpec ClusterBarrier CompilerParams CopyPartition GMEM Layout "
        "LoweringSemantics MemorySpace Mesh NDLoopInfo OOBFillMode PeerMemRef PipelinePipeline "
        "REGS RefType RefUnion Replicated SMEM SemaphoreSignal SemaphoreType ShapeDtypeStruct "
        "SwizzleTransform TMEM TMEMLayout Tiling TilingTransform TraceScope Transform "
        "TryClusterCancelResult WGMMAAccumulatorRef WarpMesh as_torch_kernel "
        "async_copy_scales_to_tmem async_copy_smem_to_tmem async_copy_sparse_metadata_to_tmem "
        "async_load_tmem async_prefetch async_store_smem async_store_tmem atomic_add atomic_and "
        "atomic_max atomic_min atomic_or atomic_xor barrier_arrive barrier_test barrier_wait "
        "broadcasted_iota cluster_ref commit_smem commit_smem_to_gmem_group commit_tmem "
        "copy_gmem_to_smem copy_smem_to_gmem dynamic_scheduling_loop emit_pipeline "
        "emit_pipeline_warp_specialized find_swizzle format_tcgen05_sparse_metadata "
        "griddepcontrol_launch_dependents griddepcontrol_wait inline_mgpu kernel layout_cast "
        "load multicast_ref multimem_load_reduce multimem_store nd_loop planar_snake "
        "print_layout query_cluster_cancel remote_ref semaphore_signal "
        "semaphore_signal_multicast semaphore_signal_parallel semaphore_wait set_max_registers "
        "tcgen05_commit_arrive tcgen05_mma transform_ref transpose_ref try_cluster_cancel "
        "wait_load_tmem wait_smem_to_gmem warp_map wgmma wgmma_accumulator_load wgmma_wait",
    ),
    "experimental.pallas.ops": ("", ""),
    "experimental.pallas.ops.gpu": ("", ""),
    "experimental.pallas.ops.gpu.all_gather_mgpu": (
        _FUNCTION.format("lax.all_gather"),
        "all_gather",
    ),
    "experimental.pallas.ops.gpu.attention": (
        _ATTENTION,
        "BlockSizes mha mha_backward_kernel mha_forward_kernel mha_reference segment_mask",
    ),
    "experimental.pallas.ops.gpu.attention_mgpu": (
        _ATTENTION,
        "TuningConfig attention attention_reference attention_with_pipeline_emitter",
    ),
    "experimental.pallas.ops.gpu.blackwell_matmul_mgpu": (
        _FUNCTION.format("numpy.matmul"),
        "MatmulDimension TuningConfig matmul_kernel",
    ),
    "experimental.pallas.ops.gpu.blackwell_ragged_dot_mgpu": (
        _FUNCTION.format("lax.ragged_dot"),
        "TuningConfig do_matmul ragged_dot_kernel ragged_dot_reference sample_group_sizes",
    ),
    "experimental.pallas.ops.gpu.collective_matmul_mgpu": (
        _FUNCTION.format("numpy.matmul of effax.lax.all_gather"),
        "MatmulDimension TuningConfig all_gather_lhs_matmul is_nvshmem_used",
    ),
    "experimental.pallas.ops.gpu.decode_attention": (
        _ATTENTION,
        "attn_forward_kernel decode_attn_unbatched gqa gqa_reference mha_reference mqa "
        "mqa_reference",
    ),
    "experimental.pallas.ops.gpu.hopper_matmul_mgpu": (
        _FUNCTION.format("numpy.matmul"),
        "MatmulDimension TuningConfig get_num_sms kernel matmul",
    ),
    "experimental.pallas.ops.gpu.hopper_mixed_type_matmul_mgpu": (
        _FUNCTION.format("numpy.matmul"),
        "MatmulDimension TuningConfig mixed_matmul_kernel reference",
    ),
    "experimental.pallas.ops.gpu.layer_norm": (
        _FUNCTION.format("nn.standardize"),
        "layer_norm layer_norm_backward layer_norm_backward_kernel_dw_db "
        "layer_norm_backward_kernel_dx layer_norm_forward layer_norm_forward_kernel "
        "layer_norm_reference",
    ),
    "experimental.pallas.ops.gpu.paged_attention": (
        _ATTENTION,
        "paged_attention paged_attention_kernel paged_attention_reference "
        "paged_attention_unbatched",
    ),
    "experimental.pallas.ops.gpu.ragged_dot_mgpu": (
        _FUNCTION.format("lax.ragged_dot"),
        "GroupInfo ragged_dot",
    ),
    "experimental.pallas.ops.gpu.reduce_scatter_mgpu": (
        _FUNCTION.format("lax.psum_scatter"),
        "reduce_scatter",
    ),
    "experimental.pallas.ops.gpu.rms_norm": (
        _FUNCTION.format("numpy and effax.lax.rsqrt"),
        "rms_norm rms_norm_backward rms_norm_backward_kernel_dw_db rms_norm_backward_kernel_dx "
        "rms_norm_forward rms_norm_forward_kernel rms_norm_reference",
    ),
    "experimental.pallas.ops.gpu.softmax": (_FUNCTION.format("nn.softmax"), "softmax"),
    "experimental.pallas.ops.gpu.transposed_ragged_dot_mgpu": (
        _FUNCTION.format("lax.ragged_dot_general"),
        "ref_transposed_ragged_dot transposed_ragged_dot",
    ),
    "experimental.pallas.ops.tpu": ("", ""),
    "experimental.pallas.ops.tpu.all_gather": (_FUNCTION.format("lax.all_gather"), "all_gather"),
    "experimental.pallas.ops.tpu.example_kernel": (
        _FUNCTION.format("numpy"),
        "double double_kernel",
    ),
    "experimental.pallas.ops.tpu.flash_attention": (
        _ATTENTION,
        "BlockSizes SegmentIds below_or_on_diag flash_attention mha_reference "
        "mha_reference_bwd mha_reference_no_custom_vjp",
    ),
    "experimental.pallas.ops.tpu.matmul": (_FUNCTION.format("numpy.matmul"), "matmul"),
    "experimental.pallas.ops.tpu.megablox": (_FUNCTION.format("lax.ragged_dot"), "gmm"),
    "experimental.pallas.ops.tpu.megablox.common": (
        _CHIP,
        "assert_is_supported_dtype is_tpu select_input_dtype supports_bfloat16_matmul "
        "tpu_generation tpu_kind",
    ),
    "experimental.pallas.ops.tpu.megablox.gmm": (
        _FUNCTION.format("lax.ragged_dot"),
        "GroupMetadata LutFn gmm make_group_metadata tgmm",
    ),
    "experimental.pallas.ops.tpu.megablox.ops": (_FUNCTION.format("lax.ragged_dot"), "gmm"),
    "experimental.pallas.ops.tpu.paged_attention": (_ATTENTION, "paged_attention"),
    "experimental.pallas.ops.tpu.paged_attention.paged_attention_kernel": (
        _ATTENTION,
        "MultiPageAsyncCopyDescriptor paged_attention paged_flash_attention_kernel "
        "paged_flash_attention_kernel_inline_seq_dim",
    ),
    "experimental.pallas.ops.tpu.paged_attention.quantization_utils": (
        _ATTENTION,
        "QuantizedTensor from_int8 get_quantization_scales quantize_to_int8 to_int8 "
        "unquantize_from_int8",
    ),
    "experimental.pallas.ops.tpu.paged_attention.util": (
        _ATTENTION,
        "grouped_query_attention_reference",
    ),
    "experimental.pallas.ops.tpu.ragged_paged_attention": (
        _ATTENTION,
        "dynamic_validate_inputs get_tuned_block_sizes ragged_paged_attention "
        "ref_ragged_paged_attention static_validate_inputs",
    ),
    "experimental.pallas.ops.tpu.ragged_paged_attention.kernel": (
        _ATTENTION,
        "MultiPageAsyncCopyDescriptor dynamic_validate_inputs get_dtype_packing "
        "get_min_heads_per_blk get_tuned_block_sizes ragged_paged_attention "
        "ragged_paged_attention_kernel ref_ragged_paged_attention static_validate_inputs",
    ),
    "experimental.pallas.ops.tpu.ragged_paged_attention.tuned_block_sizes": (
        _ATTENTION,
        "get_device_name get_min_page_size get_tpu_version get_tuned_block_sizes "
        "next_power_of_2 simplify_key",
    ),
    "experimental.pallas.ops.tpu.random": ("", ""),
    "experimental.pallas.ops.tpu.random.philox": (
        _RANDOM,
        "mul32_hi_lo philox_4x32 philox_4x32_count philox_4x32_kernel philox_fold_in "
        "philox_random_bits philox_split plphilox_prng_impl",
    ),
    "experimental.pallas.ops.tpu.random.prng_utils": (
        _RANDOM,
        "blocked_iota compute_scalar_offset round_up",
    ),
    "experimental.pallas.ops.tpu.random.threefry": (
        _RANDOM,
        "plthreefry_prng_impl plthreefry_random_bits threefry_2x32_count",
    ),
    "experimental.pallas.ops.tpu.splash_attention": (
        _ATTENTION,
        "BlockSizes CausalMask FullMask LocalMask Mask MultiHeadMask NumpyMask QKVLayout "
        "SegmentIds make_causal_mask make_local_attention_mask make_masked_mha_reference "
        "make_masked_mqa_reference make_random_mask make_splash_mha "
        "make_splash_mha_single_device make_splash_mqa make_splash_mqa_single_device",
    ),
    "experimental.pallas.ops.tpu.splash_attention.splash_attention_kernel": (
        _ATTENTION,
        "BlockSizes QKVLayout SegmentIds SplashAttentionKernel attention_reference "
        "attention_reference_custom flash_attention_kernel from_head_minor get_kernel_name "
        "make_attention_reference make_masked_mha_reference make_masked_mqa_reference "
        "make_splash_mha make_splash_mha_single_device make_splash_mqa "
        "make_splash_mqa_single_device",
    ),
    "experimental.pallas.ops.tpu.splash_attention.splash_attention_mask": (_ATTENTION, _MASKS),
    "experimental.pallas.ops.tpu.splash_attention.splash_attention_mask_info": (
        _ATTENTION,
        "MaskInfo process_dynamic_mask process_dynamic_mask_dkv process_mask process_mask_dkv",
    ),
    "experimental.pallas.tpu_sc": (
        _CHIP,
        "Indices PackFormat ScalarSubcoreMesh VectorSubcoreMesh addupdate addupdate_compressed "
        "addupdate_scatter all_reduce_ffs all_reduce_population_count bitcast cummax cumsum "
        "fetch_and_add get_sparse_core_info load_expanded load_gather pack parallel_loop "
        "scan_count sort_key_val store_compressed store_scatter subcore_barrier unpack",
    ),
}
