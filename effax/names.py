"""The public names of `effax`, and the modules they are imported from (`api.on_demand`)."""

from effax import ad_checkpoint as ad_checkpoint
from effax import api_util as api_util
from effax import as_jax as as_jax
from effax import core as core
from effax import custom_batching as custom_batching
from effax import custom_derivatives as custom_derivatives
from effax import debug as debug
from effax import dlpack as dlpack
from effax import dtypes as dtypes
from effax import effects as effects
from effax import errors as errors
from effax import example_libraries as example_libraries
from effax import experimental as experimental
from effax import export as export
from effax import extend as extend
from effax import ffi as ffi
from effax import flatten_util as flatten_util
from effax import image as image
from effax import laws as laws
from effax import lax as lax
from effax import memory as memory
from effax import monitoring as monitoring
from effax import nn as nn
from effax import numpy as numpy
from effax import ops as ops
from effax import profiler as profiler
from effax import random as random
from effax import ref as ref
from effax import scipy as scipy
from effax import seeing as seeing
from effax import sharding as sharding
from effax import stages as stages
from effax import test_util as test_util
from effax import tree as tree
from effax import tree_util as tree_util
from effax import typing as typing
from effax import version as version
from effax.api.callbacks import pure_callback as pure_callback
from effax.api.calling.scopes import ensure_compile_time_eval as ensure_compile_time_eval
from effax.api.calling.scopes import named_call as named_call
from effax.api.calling.scopes import named_scope as named_scope
from effax.api.compiling.caches import clear_caches as clear_caches
from effax.api.compiling.jit import jit as jit
from effax.api.compiling.staging import eval_shape as eval_shape
from effax.api.compiling.staging import make_jaxpr as make_jaxpr
from effax.api.compiling.staging import make_program as make_program
from effax.api.compiling.stats import stats as stats
from effax.api.compiling.struct import ShapeDtypeStruct as ShapeDtypeStruct
from effax.api.custom.closure import closure_convert as closure_convert
from effax.api.custom.closure import custom_gradient as custom_gradient
from effax.api.custom.jvp import custom_jvp as custom_jvp
from effax.api.custom.vjp import custom_vjp as custom_vjp
from effax.api.derivatives.checkpoint import checkpoint as checkpoint
from effax.api.derivatives.checkpoint import checkpoint_policies as checkpoint_policies
from effax.api.derivatives.checkpoint import remat as remat
from effax.api.derivatives.forward import jvp as jvp
from effax.api.derivatives.forward import linearize as linearize
from effax.api.derivatives.forward_backward import fwd_and_bwd as fwd_and_bwd
from effax.api.derivatives.jacobian import hessian as hessian
from effax.api.derivatives.jacobian import jacfwd as jacfwd
from effax.api.derivatives.jacobian import jacobian as jacobian
from effax.api.derivatives.jacobian import jacrev as jacrev
from effax.api.derivatives.reverse import grad as grad
from effax.api.derivatives.reverse import linear_transpose as linear_transpose
from effax.api.derivatives.reverse import value_and_grad as value_and_grad
from effax.api.derivatives.reverse import vjp as vjp
from effax.api.mapping.pmap import pmap as pmap
from effax.api.mapping.shard_map import shard_map as shard_map
from effax.api.mapping.shard_map import smap as smap
from effax.api.mapping.vmap import vmap as vmap
from effax.api.placing.devices import block_until_ready as block_until_ready
from effax.api.placing.devices import copy_to_host_async as copy_to_host_async
from effax.api.placing.devices import device_get as device_get
from effax.api.placing.devices import device_put as device_put
from effax.api.placing.global_arrays import make_array_from_callback as make_array_from_callback
from effax.api.placing.global_arrays import (
    make_array_from_process_local_data as make_array_from_process_local_data,
)
from effax.api.placing.global_arrays import (
    make_array_from_single_device_arrays as make_array_from_single_device_arrays,
)
from effax.api.placing.live_arrays import live_arrays as live_arrays
from effax.api.placing.meshes import make_mesh as make_mesh
from effax.api.placing.meshes import set_mesh as set_mesh
from effax.api.placing.resharding import reshard as reshard
from effax.api.references.references import Ref as Ref
from effax.api.references.references import empty_ref as empty_ref
from effax.api.references.references import free_ref as free_ref
from effax.api.references.references import freeze as freeze
from effax.api.references.references import new_ref as new_ref
from effax.api.surface.environment import print_environment_info as print_environment_info
from effax.backends.xla.array import Shard as Shard
from effax.backends.xla.device import Device as Device
from effax.backends.xla.device import default_backend as default_backend
from effax.backends.xla.device import device_count as device_count
from effax.backends.xla.device import devices as devices
from effax.backends.xla.device import host_count as host_count
from effax.backends.xla.device import host_id as host_id
from effax.backends.xla.device import host_ids as host_ids
from effax.backends.xla.device import local_device_count as local_device_count
from effax.backends.xla.device import local_devices as local_devices
from effax.backends.xla.device import process_count as process_count
from effax.backends.xla.device import process_index as process_index
from effax.backends.xla.device import process_indices as process_indices
from effax.backends.xla.executable import effects_barrier as effects_barrier
from effax.backends.xla.mesh import NamedSharding as NamedSharding
from effax.effects.config import allow_f16_reductions as allow_f16_reductions
from effax.effects.config import (
    array_garbage_collection_guard as array_garbage_collection_guard,
)
from effax.effects.config import check_tracer_leaks as check_tracer_leaks
from effax.effects.config import config as config
from effax.effects.config import debug_infs as debug_infs
from effax.effects.config import debug_key_reuse as debug_key_reuse
from effax.effects.config import debug_nans as debug_nans
from effax.effects.config import default_device as default_device
from effax.effects.config import default_matmul_precision as default_matmul_precision
from effax.effects.config import default_prng_impl as default_prng_impl
from effax.effects.config import disable_jit as disable_jit
from effax.effects.config import enable_checks as enable_checks
from effax.effects.config import enable_custom_prng as enable_custom_prng
from effax.effects.config import enable_x64 as enable_x64
from effax.effects.config import explain_cache_misses as explain_cache_misses
from effax.effects.config import legacy_prng_key as legacy_prng_key
from effax.effects.config import log_compiles as log_compiles
from effax.effects.config import no_execution as no_execution
from effax.effects.config import no_tracing as no_tracing
from effax.effects.config import numpy_dtype_promotion as numpy_dtype_promotion
from effax.effects.config import numpy_rank_promotion as numpy_rank_promotion
from effax.effects.config import softmax_custom_jvp as softmax_custom_jvp
from effax.effects.config import threefry_partitionable as threefry_partitionable
from effax.effects.config import transfer_guard as transfer_guard
from effax.effects.config import (
    transfer_guard_device_to_device as transfer_guard_device_to_device,
)
from effax.effects.config import transfer_guard_device_to_host as transfer_guard_device_to_host
from effax.effects.config import transfer_guard_host_to_device as transfer_guard_host_to_device
from effax.effects.mesh import PartitionSpec as _PartitionSpec
from effax.effects.types import float0 as float0
from effax.effects.types import typeof as typeof
from effax.effects.value import Value as _Value
from effax.interpreters.interpreter import Interpreter as Interpreter
from effax.interpreters.interpreter import Leaf as Leaf
from effax.interpreters.interpreter import Log as Log
from effax.interpreters.interpreter import Setting as Setting
from effax.interpreters.interpreter import State as State
from effax.interpreters.interpreter import Static as Static
from effax.numpy.slices import ds as ds
from effax.seeing.drawing import visualize as visualize
from effax.seeing.explain import explain as explain
from effax.seeing.stepping import stepper as stepper

Array = _Value
P = _PartitionSpec
checking_leaks = check_tracer_leaks
