"""A strict reader of the LaTeX that gradrank writes: it raises AssertionError for text that LaTeX would not compile."""

import re
from typing import NamedTuple

PACKAGES = {r"\toprule": "booktabs", r"\resizebox": "graphicx", r"\begin{longtable}": "longtable"}
COMMANDS = {
    *("begin", "end", "caption", "label", "centering", "small", "footnotesize", "scriptsize", "tiny", "setlength"),
    *("tabcolsep", "toprule", "midrule", "bottomrule", "endhead", "endfirsthead", "endfoot", "multicolumn", "cmidrule"),
    *("resizebox", "linewidth", "textbf", "texttt", "textbackslash", "textasciitilde", "textasciicircum", "textbar"),
    *("uparrow", "downarrow", "pm", "times", "geq", "leq", "dots"),
}


class ReadTable(NamedTuple):
    """A table: its label, its caption as plain text, and its lines of cells (the heading first)."""

    label: str
    caption: str
    lines: list[list[str]]


def read_latex(text: str) -> list[ReadTable]:
    """Return the tables of a text, after a check of braces, environments, commands, columns and special characters."""
    first, body = text.split("\n", 1)
    named = re.fullmatch(r"% needs \\usepackage\{([a-z,]+)\}", first)
    assert named, first
    assert set(named[1].split(",")) == {package for sign, package in PACKAGES.items() if sign in body}
    _check_signs(body)
    _check_nesting(body)
    environments = re.findall(r"\\begin\{(table|longtable)\}(.*?)\\end\{\1\}", body, re.DOTALL)
    assert environments and body.count(r"\label{") == body.count(r"\caption{") == len(environments)
    return [_table(kind, content) for kind, content in environments]


def _check_signs(body: str) -> None:
    """Check the commands, and that special characters outside of commands' names and mathematics are escaped."""
    assert set(re.findall(r"\\([A-Za-z]+)", body)) <= COMMANDS
    plain = re.sub(r"\\label\{[A-Za-z0-9@_.:+=-]+\}|\\[A-Za-z]+\*?|\\.", "", body.replace("{%\n", "{\n"))
    assert plain.count("$") % 2 == 0
    outside = "".join(plain.split("$")[::2])
    assert not set(outside) & set("#%_^~<>|±≥≤×−–…▲▼✓≈✗"), outside
    assert outside.isascii()


def _check_nesting(body: str) -> None:
    """Check that braces and environments are closed in the order in which they were opened."""
    opened: list[str] = []
    for sign in re.findall(r"\\[{}\\]|\\begin\{\w+\}|\\end\{\w+\}|[{}]", body):
        if sign.startswith("\\begin"):
            opened.append(sign[7:-1])
        elif sign.startswith("\\end"):
            assert opened.pop() == sign[5:-1]
        elif sign == "{":
            opened.append("{")
        elif sign == "}":
            assert opened.pop() == "{"
    assert not opened


def _table(kind: str, content: str) -> ReadTable:
    tabular = content if kind == "longtable" else re.search(r"\\begin\{tabular\}(.*)\\end\{tabular\}", content, re.S)[1]
    alignment, rows = re.match(r"\{([lr]+)\}(.*)", tabular, re.S).groups()
    label = re.search(r"\\label\{(.*?)\}", content)[1]
    caption = re.search(r"\\caption\{(.*)\}(?:\n|)\\label", content)[1]
    lines = []
    for line in re.findall(r"^(.*) \\\\$", rows, re.MULTILINE):
        cells = re.split(r"(?<!\\)&", line)
        spans = [int(span[1]) if (span := re.match(r"\s*\\multicolumn\{(\d+)\}", cell)) else 1 for cell in cells]
        assert sum(spans) == len(alignment), line
        assert not line.startswith(("[", "*"))
        lines.append([plain_text(cell.strip()) for cell in cells])
    assert lines
    return ReadTable(label, plain_text(caption), lines)


def plain_text(latex: str) -> str:
    """Return a cell or caption as it is printed. Bold text is between two pairs of asterisks."""
    text = re.sub(r"\\textbf\{([^{}]*)\}", r"**\1**", latex)
    text = re.sub(r"\\multicolumn\{\d+\}\{c\}\{(.*)\}", r"\1", text)
    signs = {
        r"$\uparrow$": "▲",
        r"$\downarrow$": "▼",
        r"$\pm$": "±",
        r"$\geq$": "≥",
        "$-$": "−",
        r"$<$": "<",
        r"\textbackslash{}": "\\\\",
    }
    for sign, plain in signs.items():
        text = text.replace(sign, plain)
    text = re.sub(r"\\texttt\{((?:[^{}\\]|\\.)*)\}", r"\1", text)
    return re.sub(r"\\([&%$#_{}\\])", r"\1", text)
