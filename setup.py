"""Which packages are shipped: every one on the disk.

`pyproject.toml` maps four root folders into `effax`; setuptools cannot find packages through such
a map by itself, and a list kept by hand forgets silently. `effax/` also holds links to three
of them (for static tools); a checkout may lack them, so each root is searched by itself.
"""

from setuptools import find_packages, setup

ROOTS = {
    "effax": "effax",
    "effax.effects": "effects",
    "effax.interpreters": "interpreters",
    "effax.backends": "backends",
    "effax.error_pages": "docs/errors",  # errors name these pages
}

setup(
    packages=sorted(
        {name for name in ROOTS}
        | {f"{name}.{sub}" for name, folder in ROOTS.items() for sub in find_packages(folder)}
    )
)
