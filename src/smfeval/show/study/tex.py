"""Text that LaTeX shows as it is, whatever somebody called an estimator."""

import re

NAMED = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    '"': r"\symbol{34}",  # a command where babel speaks German
}
NAMED |= {sign: f"\\{sign}" for sign in "_&%#${}"}

DASHES = re.compile("-(?=-)")  # two hyphens would become a dash
LATIN = frozenset("ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝßàáâãäåæçèéêëìíîïñòóôõöøùúûüýÿ")


def escaped(text: str) -> str:
    """The same text; letters that pdflatex does not have are named by their code."""
    return DASHES.sub("-{}", "".join(map(_sign, text)))


def _sign(sign: str) -> str:
    if sign in NAMED:
        return NAMED[sign]
    return sign if sign.isascii() or sign in LATIN else rf"\texttt{{U+{ord(sign):04X}}}"
