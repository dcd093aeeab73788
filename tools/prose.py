"""Find sentences that are not plain technical English: `python tools/prose.py [PATH ...]`.

Reads Markdown and reStructuredText outside code; text and strings of Jinja templates; docstrings, comments and string
literals of Python and Snakemake files; comments of YAML, TOML and shell files and of the Makefile. Prints one line per
finding, and exits with 1 if there are any. The rules are in prose_rules.py.
"""

import ast
import bisect
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from prose_rules import METAPHORS, RULES
from rule_files import to_python

ROOT = Path(__file__).resolve().parents[1]
DEFAULT = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs", "src", "workflow", "Snakefile", "params.yaml"]
DEFAULT += ["studies", "tools", "tests", "benchmarks", "examples"]
EXAMPLES = {ROOT / "tools/prose_rules.py", ROOT / "tests/unit/repository/test_prose_check.py"}  # bad forms, spelled out
PAGES, CODE = {".md", ".rst"}, {".py", ".smk"}
TEMPLATE = ".jinja"
COMMENTED = {".yaml", ".yml", ".toml", ".sh"}
SKIPPED = {".venv", ".git", ".snakemake", "node_modules", "results", "__pycache__"}

INLINE_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
PATH = re.compile(r"`+[^\s`]*(?:/|\.\w+`)[^\s`]*`*")
LINK_TARGET = re.compile(r"\]\([^)\s]*\)")
ADDRESS = re.compile(r"https?://\S+")
BLOCK_START = re.compile(r"\s*(?:[-*+] |\d+\. |\||#+ |>+ |:?\w[\w `,]*:(?: |$)|.*\S {3,}\S)")
UNDERLINE = re.compile(r"\s*([-=~^*|: ])[-=~^*|: ]*$")
SENTENCE_END = re.compile(
    r"(?<!\be\.g)(?<!\bi\.e)(?<!\bet al)(?<!\bcf)(?<!\bvs)(?<!\betc)[.!?][\"')\]*]*\s+(?=[A-Z`\"'(\[*_])"
)
DOCTEST = re.compile(r"^[ \t]*>>>.*(?:\n[ \t]*\S.*)*", re.MULTILINE)
FENCE = re.compile(r"^[ \t>]*(```|~~~).*?(?:^[ \t>]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
EXPRESSION = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
QUOTED = re.compile(r'"([^"]*)"')
HTML_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
COMMENT = re.compile(r"""^(?:[^#"']|"[^"]*"|'[^']*'|\S["'])*?(?<!\S)#+!?\s?(.*)$""")


@dataclass(frozen=True)
class Text:
    """A piece of prose that begins in `line` of a file; opens: the start of a docstring or of an option's help."""

    line: int
    content: str
    opens: bool = False


def blank(match: re.Match[str]) -> str:
    """Return as many line breaks as the matched text has."""
    return "\n" * match.group().count("\n")


def without_code(content: str) -> str:
    """Return prose, on the same lines, without code blocks and link targets; `f` or `c` replaces inline code."""
    for pattern in (FENCE, HTML_COMMENT, DOCTEST):
        content = pattern.sub(blank, content)
    content = ADDRESS.sub("`f`", LINK_TARGET.sub("]", content))
    return INLINE_CODE.sub(lambda match: ("`f`" if PATH.fullmatch(match.group()) else "`c`") + blank(match), content)


@dataclass(frozen=True)
class Sentence:
    """One sentence, joined from the lines of a file; starts: (position in the content, line) of each piece."""

    content: str
    starts: list[tuple[int, int]]

    def line_at(self, position: int) -> int:
        return self.starts[bisect.bisect(self.starts, (position, sys.maxsize)) - 1][1]


def sentences(content: str) -> Iterator[Sentence]:
    """Yield the sentences with lines counted from 0. A list item or a table cell begins a sentence."""
    block: list[tuple[int, str]] = []
    for number, line in enumerate([*without_code(content).split("\n"), ""]):
        ends = not line.strip() or UNDERLINE.fullmatch(line) or BLOCK_START.match(line)
        if ends and block:
            yield from block_sentences(block)
            block = []
        if line.lstrip().startswith("|"):
            yield from (Sentence(cell.strip(), [(0, number)]) for cell in line.split("|") if cell.strip())
        elif line.strip() and not UNDERLINE.fullmatch(line):
            block.append((number, re.sub(r"^\s*(?:[-*+] |\d+\. |#+ |>+ )?\s*", "", line).rstrip()))


def block_sentences(block: list[tuple[int, str]]) -> Iterator[Sentence]:
    """Yield the sentences of one paragraph, given as (line, text)."""
    content, lines = "", []
    for number, line in block:
        lines.append((len(content), number))
        content += line + " "
    ends = [match.end() for match in SENTENCE_END.finditer(content)]
    for start, end in zip([0, *ends], [*ends, len(content)], strict=True):
        starts = [(max(0, position - start), number) for position, number in lines if position < end]
        yield Sentence(content[start:end].strip(), starts)


def python_texts(source: str) -> Iterator[Text]:
    """Yield docstrings, string literals that contain a space, and comments."""
    try:
        tree = ast.parse(to_python(source))
    except (SyntaxError, tokenize.TokenError):
        yield from comments(source)
        return
    helps, inner = set(), set()
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str(content)) as value):
                inner.add(value)
                yield Text(value.lineno, content, opens=True)
            case ast.keyword(arg="help" | "description", value=value):
                helps.add(value)
            case ast.JoinedStr(values=values):
                inner.update(values)
                content = "".join(v.value if isinstance(v, ast.Constant) else "`c`" for v in values)
                yield Text(node.lineno, content, opens=node in helps)
            case ast.Constant(value=str(content)) if " " in content and node not in inner:
                yield Text(node.lineno, content, opens=node in helps)
    yield from joined_comments(source)


def joined_comments(source: str) -> Iterator[Text]:
    """Yield the comments of Python text; lines that hold nothing but a comment and follow each other are one text."""
    tokens = [t for t in tokenize.generate_tokens(io.StringIO(source).readline) if t.type == tokenize.COMMENT]
    yield from merged((t.start[0], t.line.lstrip().startswith("#"), t.string.lstrip("#!: ")) for t in tokens)


def template_texts(source: str) -> Iterator[Text]:
    """Yield the text of a Jinja template, in which `c` replaces each expression, and the strings with a space."""
    yield Text(1, EXPRESSION.sub(lambda match: "`c`" + blank(match), source))
    for expression in EXPRESSION.finditer(source):
        for string in QUOTED.finditer(expression.group()):
            if " " in string[1]:
                yield Text(source.count("\n", 0, expression.start() + string.start()) + 1, string[1])


def comments(source: str) -> Iterator[Text]:
    """Yield the comments of a YAML, TOML or shell file."""
    found = ((number, line, COMMENT.match(line)) for number, line in enumerate(source.splitlines(), 1))
    yield from merged((number, line.lstrip().startswith("#"), match[1]) for number, line, match in found if match)


def merged(lines: Iterator[tuple[int, bool, str]]) -> Iterator[Text]:
    """Yield texts from (number, whether the line is all comment, comment)."""
    start, content, last = 0, "", -1
    for number, is_all_comment, comment in lines:
        if is_all_comment and number == last + 1:
            content += "\n" + comment
        else:
            if content:
                yield Text(start, content)
            start, content = number, comment
        last = number if is_all_comment else -1
    if content:
        yield Text(start, content)


def texts(path: Path) -> Iterator[Text]:
    source = path.read_text(encoding="utf-8")
    if path.suffix in PAGES:
        yield Text(1, source)
    elif path.suffix == TEMPLATE:
        yield from template_texts(source)
    elif path.suffix in CODE or path.name == "Snakefile":
        yield from python_texts(source)
    else:
        yield from comments(source)


def metaphors(path: Path) -> set[str]:
    """Return the metaphors in the name of a module and of the folder that contains it."""
    words = {word for part in (path.stem, path.parent.name) for word in part.split("_")}
    return words & METAPHORS if path.suffix in CODE else set()


def findings(text: Text) -> Iterator[tuple[int, str, str]]:
    """Yield (line, rule and advice, sentence) for each place that breaks a rule, the first rule where several do."""
    for at, sentence in enumerate(sentences(text.content)):
        places: set[int] = set()
        for rule in RULES:
            for match in rule.pattern.finditer(sentence.content) if not rule.starts or (text.opens and at == 0) else ():
                if match.start() not in places:
                    places.add(match.start())
                    line = text.line + sentence.line_at(match.start())
                    yield line, f"{rule.name} '{match.group()[:40]}' ({rule.plain})", sentence.content


def files_below(paths: list[Path]) -> list[Path]:
    """Return the files to read, each once although links lead to some of them."""
    suffixes = PAGES | CODE | COMMENTED | {TEMPLATE}
    found = {}
    for path in paths:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            is_read = file.suffix in suffixes or file.name in ("Snakefile", "Makefile")
            if is_read and file.is_file() and not SKIPPED & set(file.parts):
                found.setdefault(file.resolve(), file)
    return [file for resolved, file in found.items() if resolved not in EXAMPLES]


def main(arguments: list[str]) -> int:
    paths = [Path(each) for each in arguments] or [ROOT / each for each in DEFAULT if (ROOT / each).exists()]
    files, count = files_below(paths), 0
    for path in files:
        found = [(1, "metaphor in a name", word) for word in sorted(metaphors(path))]
        found += [each for text in texts(path) for each in findings(text)]
        shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
        for line, rule, sentence in sorted(found):
            print(f"{shown}:{line}: {rule}: {sentence[:160]}")
        count += len(found)
    print(f"{count} sentences to rewrite in {len(files)} files", file=sys.stderr)
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
