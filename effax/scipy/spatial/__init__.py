"""Space, as `scipy.spatial` has it."""

from effax.scipy.spatial import transform as transform
