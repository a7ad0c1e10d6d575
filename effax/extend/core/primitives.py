"""Effects by the names of JAX's primitives: `add_p` is the effect `add`."""

from effax.api.surface.primitives import __getattr__ as __getattr__
