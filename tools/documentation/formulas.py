"""Turn the formulas of a Markdown page into MathML, which browsers show without a script."""

import re

from latex2mathml.converter import convert

# Fenced blocks and inline code stay as they are. Groups: a displayed formula, a formula in a sentence.
_FORMULA = re.compile(r"^```.*?^```|`[^`\n]+`|\$\$(.+?)\$\$|\$([^$\s](?:[^$\n]*[^$\s])?)\$", re.MULTILINE | re.DOTALL)


def with_mathml(page: str) -> str:
    r"""Return a Markdown page with its LaTeX formulas (`$...$`, `$$...$$`) as MathML.

    >>> with_mathml(r"`$x$` is $x$.").count("<math")
    1
    """

    def replaced(found: re.Match[str]) -> str:
        displayed, inline = found.groups()
        if displayed:
            return f'<div class="formula">{convert(displayed, display="block")}</div>'
        return convert(inline) if inline else found[0]

    return _FORMULA.sub(replaced, page)
