"""jax._src.lib: version numbers of the native library.

The tests use jaxlib_extension_version to ask for recent features.
"""

jaxlib_extension_version = 1000
cuda_versions = None


def __getattr__(name):
    if name == "version_str":
        import jaxshims

        return str(jaxshims.target_attr("__version__"))
    if name == "version":
        import jaxshims
        from jaxshims import test_util

        return test_util.parse_version(jaxshims.target_attr("__version__"))
    raise AttributeError(name)
