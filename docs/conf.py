"""Settings of the site, which `make site` builds: Sphinx reads the Markdown pages where they lie.

The source folder is the root of the repository, so that the links of a page lead to the same
places on the site as in the repository.
"""

import os
import sys
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]

import effax  # noqa: E402

project = "effax"
author = "the maintainers of effax"
version = release = effax.__version__
copyright = author

root_doc = "docs/index"
include_patterns = [
    "docs/**.md",
    "docs/reference/**.rst",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "README.md",
    "SECURITY.md",
    "benchmarks/*.md",
    "papers/*/README.md",
    "tests/conformance/README.md",
]
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.intersphinx",
    "sphinx.ext.napoleon",
    "sphinx.ext.linkcode",
    "sphinx_copybutton",
    "site_sources",
]

# ---- pages

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
trim_doctest_flags = True
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True
suppress_warnings = [
    "myst.header",  # a README that starts at another level
    "toc.not_included",  # the papers' pages are reached by links
]

# ---- reference

default_role = "literal"
"""Docstrings are written in Markdown's manner: `x` is code."""
autodoc_typehints = "none"
autodoc_member_order = "alphabetical"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
python_maximum_signature_line_length = 80
maximum_signature_line_length = 80
add_module_names = False
toc_object_entries_show_parents = "hide"
intersphinx_mapping = {
    "python": ("https://docs.python.org/3", None),
    "numpy": ("https://numpy.org/doc/stable", None),
    "scipy": ("https://docs.scipy.org/doc/scipy", None),
}


def _reached(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/objects.inv", timeout=10):
            return True
    except OSError:
        print(f"{address} is not reached: names of that project are no links")
        return False


# Warnings are errors, and an unread inventory is one.
if os.environ.get("EFFAX_SITE_OFFLINE"):
    intersphinx_mapping = {}
intersphinx_mapping = {k: v for k, v in intersphinx_mapping.items() if _reached(v[0])}

# ---- looks

html_theme = "furo"
html_title = f"effax {release}"
html_theme_options = {"top_of_page_buttons": []}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
