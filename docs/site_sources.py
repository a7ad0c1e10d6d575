"""The part of the site that Sphinx lacks: pages of source files, and links to them.

A link of a page to a file or a folder of the repository that is no page leads to a page under
`source/`. So do the "source" links of the reference. Where a paragraph is only a link to a program
of `examples/gallery`, the site shows the picture that the program draws.
"""

from __future__ import annotations

import ast
import html
import importlib
import inspect
import itertools
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import make_notebooks
import make_reference
from docutils import nodes
from prompts import close_blocks
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import TextLexer, get_lexer_for_filename
from pygments.util import ClassNotFound
from sphinx import addnodes
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[1]
GALLERY = ROOT / "examples" / "gallery"
PICTURES = ROOT / "build" / "gallery"

MARKUP = re.compile(r"([*|]|_\b)")
"""Characters of text that reStructuredText would read as markup."""

SHORT = {
    "fx.": "effax.",
    "jnp.": "effax.numpy.",
    "np.": "numpy.",
    "lax.": "effax.lax.",
    "random.": "effax.random.",
    "nn.": "effax.nn.",
}
"""Beginnings of names as pages abbreviate them."""

wanted: set[str] = set()
"""The files and folders, relative to the root, that some page links to."""


def write_reference(app: Sphinx) -> None:
    """Write the reference's pages, and the pictures of the gallery, before Sphinx reads pages."""
    make_reference.write(ROOT / "docs" / "reference")
    PICTURES.mkdir(parents=True, exist_ok=True)
    for program in sorted(GALLERY.glob("[!_]*.py")):
        picture = PICTURES / f"{program.stem}.png"
        if not picture.exists() or picture.stat().st_mtime < program.stat().st_mtime:
            command = [sys.executable, str(program), str(picture)]
            subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)})


def linkcode_resolve(domain: str, info: dict[str, Any]) -> str | None:
    """The address of the line where an object of the reference is defined."""
    if not info["module"]:
        return None
    thing: Any = importlib.import_module(info["module"])
    for part in info["fullname"].split("."):
        thing = getattr(thing, part, None)
    thing = inspect.unwrap(thing) if callable(thing) else thing
    try:
        path = Path(inspect.getsourcefile(thing) or "").resolve().relative_to(ROOT)
        line = inspect.getsourcelines(thing)[1]
    except (OSError, TypeError, ValueError):  # a constant, a ufunc, or code of another project
        return None
    wanted.add(path.as_posix())
    return f"../../source/{path.as_posix()}.html#L-{line}"


def escape_docstring(
    app: Sphinx, kind: str, name: str, thing: Any, options: Any, lines: list[str]
) -> None:
    """Turn the Markdown of a docstring, which is code in backticks, into reStructuredText."""
    example = False
    for i, line in enumerate(lines):
        example = line.lstrip().startswith(">>>") or (example and bool(line.strip()))
        if not example:
            # Odd pieces are code; a backtick without a partner is text.
            pieces = re.split(r"`+", line)
            whole = len(pieces) % 2
            lines[i] = "".join(
                f"``{piece}``\\ " if odd and whole and piece.strip() else MARKUP.sub(r"\\\1", piece)
                for piece, odd in zip(pieces, itertools.cycle((False, True)))
            )


def prepare_page(app: Sphinx, docname: str, source: list[str]) -> None:
    """Fit a page's examples to the site; add the sidebar's contents to the index.

    An example's blocks get the line that ends them, and the empty line that ends a doctest goes.

    The contents are the sections of the index and their links. A page that is a notebook too
    begins with a link to that.
    """
    source[0] = close_blocks(re.sub(r"\n\n```$", r"\n```", source[0], flags=re.M))
    if ROOT / f"{docname}.md" in make_notebooks.pages():
        title, _, text = source[0].partition("\n")
        name = f"{docname.rpartition('/')[2]}.ipynb"
        link = f'<p><a href="../notebooks/{name}" download>This page as a notebook</a></p>'
        source[0] = f"{title}\n\n{link}\n{text}"
    if docname != app.config.root_doc:
        return
    for title, section in re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", source[0], re.M | re.S):
        pages = "\n".join(re.findall(r"^- \[[^]]*\]\(([^)#:]+)\.md\)", section, re.M))
        source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n{pages}\n```\n"
    source[0] += "\n```{toctree}\n:hidden:\n:caption: Reference\n\nreference/index\n```\n"


def public_name(text: str, module: str, names: frozenset[str]) -> str | None:
    """The full name that code on a module's page refers to, if it is a documented public name."""
    text = text.removesuffix("()")
    for short, full in SHORT.items():
        if text.startswith(short):
            text = full + text.removeprefix(short)
    if text.startswith(("numpy.", "scipy.")):
        return text
    return next((n for n in (f"{module}.{text}", text, f"effax.{text}") if n in names), None)


def link_names(app: Sphinx, doctree: nodes.document) -> None:
    """Make links of code such as `vmap`, `jnp.sort` and `scipy.linalg.expm`."""
    modules = make_reference.public()
    names = frozenset(f"{module}.{name}" for module in modules for name in modules[module])
    module = app.env.docname.rpartition("/")[2]
    for code in list(doctree.findall(nodes.literal)):
        target = public_name(code.astext(), module, names)
        if target is None or isinstance(code.parent, (nodes.reference, nodes.title)):
            continue
        if isinstance(code.parent, addnodes.pending_xref):
            continue
        link = addnodes.pending_xref(
            "", refdomain="py", reftype="obj", reftarget=target, refexplicit=True
        )
        code.replace_self(link)
        link += code


def link_sources(app: Sphinx, doctree: nodes.document) -> None:
    """Lead the links to source files and folders to their pages."""
    here = Path(app.env.doc2path(app.env.docname)).parent
    links = [*doctree.findall(addnodes.download_reference), *doctree.findall(addnodes.pending_xref)]
    for link in links:
        target = link.get("reftarget", "").partition("#")[0]
        path = Path(os.path.normpath(here / target))
        if link.get("refdomain") == "doc":  # a page, or Markdown that is none
            path = ROOT / f"{target}.md"
        if not target or not path.exists() or not path.is_relative_to(ROOT):
            continue
        name = path.relative_to(ROOT).as_posix()
        if name.removesuffix(".md") in app.env.found_docs:
            continue
        wanted.add(name)
        up = "../" * app.env.docname.count("/")
        address = f"{up}source/{name}.html"
        _show_picture(link, path, up)
        link.replace_self(nodes.reference("", "", *link.children, refuri=address, internal=True))


def _show_picture(link: nodes.Element, path: Path, up: str) -> None:
    """Put the picture of a gallery program above the paragraph that consists of its link."""
    paragraph = link.parent
    picture = PICTURES / f"{path.stem}.png"
    if path.parent == GALLERY and len(paragraph.children) == 1 and picture.exists():
        image = nodes.image(uri=f"/build/gallery/{path.stem}.png", alt=link.astext())
        image["candidates"] = {"*": image["uri"]}
        paragraph.parent.insert(paragraph.parent.index(paragraph), image)


PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="stylesheet" href="{up}_static/pygments.css">
<style>body {{ font-family: sans-serif; margin: 1rem; }} pre {{ overflow-x: auto; }}
.highlight {{ background: none }} .linenos {{ opacity: 0.4; }}
:target + *, a:target {{ outline: 2px solid #d80; }}</style>
</head><body><p><a href="{up}docs/index.html">effax</a> / {title}</p>
{body}
</body></html>
"""


def write_sources(app: Sphinx, error: Exception | None) -> None:
    """Write the page of each file and folder that is linked to, and the notebooks."""
    if error is not None or app.builder.name != "html":
        return
    make_notebooks.write(Path(app.outdir) / "notebooks")
    for name in sorted(wanted):
        target = Path(app.outdir) / "source" / f"{name}.html"
        target.parent.mkdir(parents=True, exist_ok=True)
        up = "../" * (name.count("/") + 1)
        path = ROOT / name
        body = _folder(path, app) if path.is_dir() else _file(path)
        target.write_text(PAGE.format(title=html.escape(name), up=up, body=body), encoding="utf-8")
    (Path(app.outdir) / "index.html").write_text(
        '<!doctype html><meta http-equiv="refresh" content="0; url=docs/index.html">'
        '<a href="docs/index.html">effax</a>\n',
        encoding="utf-8",
    )


def _file(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return f"<p>{path.stat().st_size} bytes, not text</p>"
    try:
        lexer = get_lexer_for_filename(path.name)
    except ClassNotFound:
        lexer = TextLexer()
    return highlight(text, lexer, HtmlFormatter(linenos="inline", lineanchors="L"))


def _folder(path: Path, app: Sphinx) -> str:
    """The files of a folder, with the first line of what each says of itself.

    A folder within it whose README is a page leads there.
    """
    rows = []
    for child in sorted(path.iterdir()):
        name = child.relative_to(ROOT).as_posix()
        if child.name.startswith((".", "__pycache__")):
            continue
        about = ""
        if child.suffix == ".py":
            about = ast.get_docstring(ast.parse(child.read_text(encoding="utf-8"))) or ""
        title = html.escape(child.name)
        if f"{name}/README" in app.env.found_docs:
            readme = (child / "README.md").read_text(encoding="utf-8")
            about = readme.partition("\n")[0].lstrip("# ")
            up = "../" * len(path.relative_to(ROOT).parts)
            link = f'<a href="{up}{name}/README.html">{title}</a>'
            rows.append(f"<li>{link} {html.escape(about)}</li>")
            continue
        link = f'<a href="{path.name}/{child.name}.html">{title}</a>' if name in wanted else title
        rows.append(f"<li>{link} {html.escape(about.partition(chr(10))[0])}</li>")
    return f"<ul>{''.join(rows)}</ul>"


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the functions above to the steps of a build."""
    app.config.linkcode_resolve = linkcode_resolve
    app.connect("builder-inited", write_reference)
    app.connect("autodoc-process-docstring", escape_docstring, priority=100)
    app.connect("source-read", prepare_page)
    app.connect("doctree-read", link_sources, priority=100)  # before Sphinx copies files
    app.connect("doctree-read", link_names)
    app.connect("build-finished", write_sources)
    return {"parallel_read_safe": False, "parallel_write_safe": False}
