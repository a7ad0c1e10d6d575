"""Where arrays lie: devices, meshes, shardings."""
