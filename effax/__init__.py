"""effax: numerical programs as effects, transformations as handlers."""

from effax import start as start  # first: it gives the stack its bottom
from effax.api.autodiff import grad as grad
from effax.api.autodiff import jvp as jvp
from effax.api.autodiff import linear_transpose as linear_transpose
from effax.api.autodiff import linearize as linearize
from effax.api.autodiff import value_and_grad as value_and_grad
from effax.api.autodiff import vjp as vjp
from effax.api.jacobian import hessian as hessian
from effax.api.jacobian import jacfwd as jacfwd
from effax.api.jacobian import jacobian as jacobian
from effax.api.jacobian import jacrev as jacrev
from effax.api.jit import jit as jit
from effax.api.staging import ShapeDtypeStruct as ShapeDtypeStruct
from effax.api.staging import eval_shape as eval_shape
from effax.api.staging import make_jaxpr as make_jaxpr
from effax.api.staging import make_program as make_program
from effax.api.vmap import vmap as vmap
