"""Programs at many places: device maps, meshes, and the axes along which values may differ."""
