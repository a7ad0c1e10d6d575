"""Placement of arrays: devices, meshes, shardings."""
