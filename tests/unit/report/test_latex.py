"""Tables as LaTeX: their content, and that pdflatex compiles them."""

import re
import shutil
import subprocess

import polars as pl
import pytest

from gradrank.base.text_tables import PAGE
from gradrank.report.tables.latex import escape, latex
from gradrank.report.tables.numbers import VERDICT, P
from gradrank.report.tables.summary import summary
from gradrank.report.tables.summary_tables import read_tables
from gradrank.report.tables.table import Column, Table
from made_results import CONVENTIONS, METRICS, make_results, write_values

MODELS = ("lambdamart", "ranknet_linear", "ranksvm")


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """results/mq2007/tables, in which ranksvm is far below the others in NDCG@10 under letor4."""
    folder = make_results(tmp_path_factory.mktemp("study"), models=MODELS, queries=40)
    path = folder / "ranksvm" / "per_query.parquet"
    poor = pl.when(pl.col("convention") == "letor4").then(pl.col("ndcg@10") / 9).otherwise(pl.col("ndcg@10"))
    write_values(pl.read_parquet(path).with_columns(poor.alias("ndcg@10")), path.parent)
    summary(folder, MODELS, "letor4")
    return folder / "tables"


def environments(text, kind="table"):
    return re.findall(rf"\\begin{{{kind}}}.*?\\end{{{kind}}}", text, re.DOTALL)


def body(environment):
    """Return the heading and the lines of a tabular as cells."""
    lines = re.findall(r"^(.*) \\\\$", environment, re.MULTILINE)
    return [line.split(" & ") for line in lines]


def test_the_best_is_bold_and_first_and_significantly_worse_methods_are_marked(tables):
    rows = {(row["convention"], row["model"], row["metric"]): row for row in read_tables(tables)["main"]}
    for convention, text in zip(CONVENTIONS, environments((tables / "main.tex").read_text()), strict=True):
        _, *lines = body(text)
        order = [rows[convention, line[0].replace("\\", ""), "ndcg@10"]["mean"] for line in lines]
        assert order == sorted(order, reverse=True)
        for column, metric in enumerate(METRICS, 1):
            means = {line[0]: rows[convention, line[0].replace("\\", ""), metric]["mean"] for line in lines}
            bold = {line[0] for line in lines if line[column].startswith("\\textbf{")}
            assert bold == {name for name, mean in means.items() if round(mean, 4) == round(max(means.values()), 4)}
        marked = {line[0] for line in lines if "$^{*}$" in line[METRICS.index("ndcg@10") + 1]}
        assert marked == ({"ranksvm"} if convention == "letor4" else set())  # only the primary convention has tests
        assert ("Wilcoxon signed-rank test" in text and "Holm" in text) == bool(marked)


def test_text_is_escape():
    assert escape("a_b & 50% of `x_y` < 1 ± 2 − 3 {#}") == (
        "a\\_b \\& 50\\% of \\texttt{x\\_y} $<$ 1 $\\pm$ 2 $-$ 3 \\{\\#\\}"
    )
    assert escape("C:\\~^|") == "C:\\textbackslash{}\\textasciitilde{}\\textasciicircum{}\\textbar{}"
    assert escape("≈ consistent") == "consistent"


COLUMNS = (Column("a_name"), Column("value", "value", "+.2f"), Column("p", form=P), Column("side", form=VERDICT))


def table_of(lines=1, **options):
    row = {"a_name": "x & y", "value": -0.5, "p": 1e-6, "side": "not reproduced"}
    return Table("name", "Title", COLUMNS, [row] * lines, note="A `note`.", **options)


def test_a_table_longer_than_a_page_is_a_longtable():
    assert environments(latex(table_of(PAGE))) and not environments(latex(table_of(PAGE)), "longtable")
    (text,) = environments(latex(table_of(PAGE + 1)), "longtable")
    assert len(body(text)) >= PAGE + 2 and "\\endhead" in text


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_pdflatex_compiles_every_table(tables, tmp_path):
    paths = sorted(tables.glob("*.tex"))
    (tmp_path / "long.tex").write_text(latex(table_of(PAGE + 1)))
    parts = "\n".join(f"\\input{{{path}}}\\clearpage" for path in (*paths, tmp_path / "long.tex"))
    (tmp_path / "all.tex").write_text(
        f"\\documentclass{{article}}\\usepackage{{booktabs,graphicx,longtable}}\\begin{{document}}{parts}\\end{{document}}"
    )
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, done.stdout[-2000:]
    assert len(paths) == 8
