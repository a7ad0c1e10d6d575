"""Which packages are shipped: every one on the disk.

`pyproject.toml` maps three root folders into `effax`; setuptools cannot find packages through such
a map by itself, and a list kept by hand forgets silently. `effax/` also holds links to the three
folders (for static tools); a checkout may lack them, so each root is searched by itself.
"""

from setuptools import find_packages, setup

ROOTS = {
    "effax": "effax",
    "effax.effects": "effects",
    "effax.interpreters": "interpreters",
    "effax.backends": "backends",
}

setup(
    packages=sorted(
        {name for name in ROOTS}
        | {f"{name}.{sub}" for name, folder in ROOTS.items() for sub in find_packages(folder)}
    )
)
