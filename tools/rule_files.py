"""Conversion of a Snakemake file to Python text with the same line numbers, so that `ast` can read it."""

import io
import tokenize

CODE_BLOCKS = {"onstart", "onsuccess", "onerror", "run"}
NAMED_BLOCKS = {"rule", "checkpoint", "module", "subworkflow"}
DIRECTIVES = {
    "conda",
    "configfile",
    "container",
    "containerized",
    "envvars",
    "include",
    "inputflags",
    "localrules",
    "outputflags",
    "pathvars",
    "pepfile",
    "pepschema",
    "report",
    "resource_scopes",
    "ruleorder",
    "scattergather",
    "singularity",
    "storage",
    "wildcard_constraints",
    "workdir",
}
SPACING = {tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT}


def to_python(source: str) -> str:
    """Return `source` with its Snakemake blocks as Python: a rule becomes `if True:`, a directive becomes a call.

    Plain Python text is returned unchanged. Raises SyntaxError or tokenize.TokenError if the text cannot be tokenized.
    """
    tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    edits = []  # (start, end, replacement), positions as (row, column)
    depth, blocks = 0, []  # blocks: the depths of the directives of the open rules and modules
    for at, token in enumerate(tokens):
        depth += (token.type == tokenize.INDENT) - (token.type == tokenize.DEDENT)
        if token.type != tokenize.NAME or not _opens_statement(tokens, at):
            continue
        while blocks and depth < blocks[-1]:
            blocks.pop()
        colon = _header_end(tokens, at, inside_rule=bool(blocks) and depth == blocks[-1])
        if colon is None:
            continue
        if token.string == "use" and tokens[colon].string != ":":
            edits.append((token.start, tokens[colon].start, "pass"))
        elif token.string == "use" or token.string in CODE_BLOCKS | NAMED_BLOCKS:
            edits.append((token.start, tokens[colon].end, "if True:"))
            if token.string not in CODE_BLOCKS:
                blocks.append(depth + 1)
        else:
            edits.append((token.start, tokens[colon].end, f"{token.string}("))
            end = _last_of_block(tokens, colon)
            edits.append((end, end, ")"))
    return _edited(source, edits)


def _opens_statement(tokens, at) -> bool:
    before = at - 1
    while before >= 0 and tokens[before].type in SPACING:
        before -= 1
    return before < 0 or tokens[before].type == tokenize.NEWLINE


def _header_end(tokens, at, inside_rule):
    """Return the index of the colon that ends a Snakemake header; None if there is no header.

    A header `use rule` may end at the end of its line instead.
    """
    word, after = tokens[at].string, tokens[at + 1]
    if word == "use" and after.string == "rule":
        while tokens[at].string != ":" and tokens[at].type not in (tokenize.NEWLINE, tokenize.COMMENT):
            at += 1
        return at
    if after.string == ":":
        return at + 1 if inside_rule or word in CODE_BLOCKS | NAMED_BLOCKS | DIRECTIVES else None
    named = word in NAMED_BLOCKS | {"storage"} and after.type == tokenize.NAME and tokens[at + 2].string == ":"
    return at + 2 if named else None


def _last_of_block(tokens, at):
    """Return the end of the arguments after a directive's colon, on the same line or indented below it."""
    depth, end = 0, tokens[at].end
    for index, token in enumerate(tokens[at + 1 :], at + 1):
        depth += (token.type == tokenize.INDENT) - (token.type == tokenize.DEDENT)
        if token.type in SPACING | {tokenize.NEWLINE}:
            continue
        if depth <= 0 and _opens_statement(tokens, index):
            break
        end = token.end
    return end


def _edited(source, edits):
    lines = source.splitlines(keepends=True)
    for (row, column), (end_row, end_column), text in sorted(edits, reverse=True):
        last = lines[end_row - 1][end_column:]
        lines[row - 1] = lines[row - 1][:column] + text + (last if row == end_row else "\n")
        if end_row > row:
            lines[end_row - 1] = last
    return "".join(lines)
