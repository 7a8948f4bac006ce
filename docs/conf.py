"""Configuration of Sphinx: sphinx-build -W --keep-going -b html docs docs/_build, from the folder of the sources.

Neither the build nor the pages fetch anything: formulas are MathML, and fonts are those of the reader.
"""

import os
import re
import sys
from pathlib import Path

import matplotlib
from docutils.utils.math.latex2mathml import tex2mathml

import fasttree

FOLDER = Path(__file__).parent
SOURCES = FOLDER.parent
sys.path.insert(0, str(FOLDER))  # _style.py, _pictures.py
import _pictures  # noqa: E402
import _reference  # noqa: E402
import _style  # noqa: E402

os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(FOLDER), os.environ.get("PYTHONPATH")]))
matplotlib.use("agg")

project = "fasttree"
author = "the fasttree developers"
copyright = f"2026, {author}"
release = version = fasttree.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_made", "gallery/*", "**.ipynb", "sg_execution_times.rst"]
default_role = "code"  # docstrings write `names` with single backquotes
maximum_signature_line_length = 90
python_trailing_comma_in_multi_line_signatures = False
smartquotes = False
nitpicky = False  # types in docstrings are words, not links

html_theme = "furo"
html_title = f"fasttree {release}"
html_static_path = ["_static"]
html_css_files = ["fasttree.css"]
_pictures.PAGES.mkdir(parents=True, exist_ok=True)
_reference.write_overviews(_pictures.MADE)
html_extra_path = [str(_pictures.PAGES)]
html_favicon = "_static/mark.svg"
html_show_sphinx = False
html_copy_source = False
html_theme_options = {
    "light_logo": "mark.svg",
    "dark_logo": "mark.svg",
    "light_css_variables": {"color-brand-primary": "#005b8f", "color-brand-content": "#005b8f"},
    "dark_css_variables": {"color-brand-primary": "#56b4e9", "color-brand-content": "#56b4e9"},
}
pygments_style, pygments_dark_style = "tango", "github-dark"

myst_enable_extensions = ["dollarmath", "deflist", "attrs_block", "attrs_inline", "colon_fence"]
myst_heading_anchors = 3

add_module_names = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"
numpydoc_show_class_members = False

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    "within_subsection_order": "_style.GalleryOrder",
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "copyfile_regex": r".*\.rst",
    "min_reported_time": 1e9,
    "image_srcset": ["2x"],
    "thumbnail_size": (460, 300),
    "matplotlib_animations": False,
    "reset_modules": ("_style.set_style",),
    "write_computation_times": False,
}


def _formula(self, node, as_block):
    """Return a formula as MathML, which browsers draw and screen readers read."""
    return tex2mathml(node.astext(), as_block=as_block)


def _visit_inline(self, node):
    from docutils import nodes

    self.body.append(_formula(self, node, False))
    raise nodes.SkipNode


def _visit_block(self, node):
    from docutils import nodes

    self.body.append(f'<div class="formula">{_formula(self, node, True)}</div>\n')
    raise nodes.SkipNode


def _escape_types(app, what, name, obj, options, lines):
    """Escape types such as "ndarray of shape (n_features_in_,)", which end like a link."""
    for i, line in enumerate(lines):
        if re.match(r"\s*\w+ : ", line):
            lines[i] = re.sub(r"(?<=\w)_(?=\W)", r"\\_", line)


def _describe_pictures(app, name, source):
    """Set the descriptions of the gallery's pictures from `_style.SEEN`; each picture must have one."""
    if name.startswith("auto_gallery/plot_"):
        words = iter(_style.SEEN[name.removeprefix("auto_gallery/plot_")])
        source[0] = re.sub(r"(image-sg::.*\n +:alt: ).*", lambda found: found[1] + next(words), source[0])


def setup(app):
    _reference.setup(app)
    app.add_html_math_renderer("mathml", (_visit_inline, None), (_visit_block, None))
    app.connect("autodoc-process-docstring", _escape_types, priority=400)  # before numpydoc
    app.connect("source-read", _describe_pictures)
    os.chdir(SOURCES)  # pictures read examples/
    app.connect("builder-inited", lambda app: _pictures.make_pictures())


html_math_renderer = "mathml"
