"""Results as text: strict JSON, and the templates of `show/templates`, rendered by Jinja2.

Python prepares data, templates hold the markup. Whatever a template prints is text and is escaped,
for HTML or for LaTeX; control characters are spelled out. Macros and files of styles and scripts
are markup and stay as they are.
"""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smfeval.words import printable

if TYPE_CHECKING:  # at run time, imported where a template is rendered
    from jinja2 import Environment

PACKAGE, FOLDER = "smfeval.show", "templates"

LATEX_SIGNS = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    '"': r"\symbol{34}",  # a command where babel speaks German
}
LATEX_SIGNS |= {sign: f"\\{sign}" for sign in "_&%#${}"}
PARTS_OF_NAMES = r"(?<=[./_-])(?=\w)"
DASHES = "-(?=-)"  # two hyphens would become a dash
MARKDOWN_ESCAPES = str.maketrans({sign: f"\\{sign}" for sign in "\\`*_[]<>#|~&$"})
LATIN = frozenset("ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝßàáâãäåæçèéêëìíîïñòóôõöøùúûüýÿ")


def render_html(name: str, /, **data: Any) -> str:
    """The HTML template of this name, filled in."""
    return html_environment().get_template(name).render(data)


def render_latex(name: str, /, **data: Any) -> str:
    """The LaTeX template of this name, filled in; it prints `<< x >>`, and `<% if x %>` decides."""
    return latex_environment().get_template(name).render(data)


def json_text(document: dict[str, Any]) -> str:
    """One JSON document, ending with a line end. Raises on a NaN rather than writing one."""
    import json  # noqa: PLC0415  only where asked for

    return json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def read_asset(name: str) -> str:
    """The text of a file beside the templates, unpacked: styles, scripts."""
    content = read_packed(name)
    import gzip  # noqa: PLC0415  only for pages

    return (gzip.decompress(content) if name.endswith(".gz") else content).decode("utf-8")


def read_packed(name: str) -> bytes:
    """A file beside the templates, as it is."""
    return (Path(__file__).with_name(FOLDER) / name).read_bytes()


def escape_latex(text: str) -> str:
    """The same text in LaTeX; letters that pdflatex does not have are named by their code."""
    return re.sub(DASHES, "-{}", "".join(map(_latex_sign, text)))


def _latex_sign(sign: str) -> str:
    if sign in LATEX_SIGNS:
        return LATEX_SIGNS[sign]
    return sign if sign.isascii() or sign in LATIN else rf"\texttt{{U+{ord(sign):04X}}}"


def escape_markdown(text: str) -> str:
    """Text that Markdown shows as it is."""
    return text.translate(MARKDOWN_ESCAPES)


@cache
def html_environment() -> "Environment":
    """Templates of HTML; `tojson` refuses what is not a number."""
    made = _environment(printable)
    made.filters["breakable"] = _breakable
    made.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    return made


def _breakable(name: str) -> Any:
    """The name as HTML that may be broken where its parts end: after a dot, a slash, a hyphen."""
    from markupsafe import Markup  # noqa: PLC0415  where a template is rendered

    return Markup("<wbr>").join(re.split(PARTS_OF_NAMES, printable(str(name))))


@cache
def latex_environment() -> "Environment":
    """Templates of LaTeX, with delimiters of their own: braces and percent signs are its own."""
    from markupsafe import Markup  # noqa: PLC0415  where a template is rendered

    return _environment(
        lambda text: Markup(escape_latex(printable(text))),  # as markup: no HTML escapes
        block_start_string="<%",
        block_end_string="%>",
        variable_start_string="<<",
        variable_end_string=">>",
        comment_start_string="<#",
        comment_end_string="#>",
    )


def _environment(write: Callable[[str], str], **delimiters: str) -> "Environment":
    """Templates that pass all text they print, and no markup, through `write`."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415  seldom needed

    return Environment(
        loader=PackageLoader(PACKAGE, FOLDER),
        autoescape=True,
        finalize=lambda each: each if hasattr(each, "__html__") else write(str(each)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        **delimiters,  # type: ignore[arg-type]
    )
