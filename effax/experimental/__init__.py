"""What JAX keeps under `experimental`."""

from effax.api.callbacks import io_callback as io_callback
