"""Tables as LaTeX: their content, their structure, and that pdflatex compiles them."""

import shutil
import subprocess

import polars as pl
import pytest

from gradrank.base.text_tables import PAGE, Grid, latex_document, latex_escape, latex_table
from gradrank.bench.report.tables.summary import summary
from gradrank.bench.report.tables.summary_tables import read_tables
from gradrank.bench.report.tables.table import VERDICT, Column, P, Table, latex
from latex_structure import read_latex
from made_results import CONVENTIONS, METRICS, make_results, write_values

MODELS = ("lambdamart", "ranknet_linear", "ranksvm")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """The folders tables/ of two data sets; on mq2007, ranksvm is far below the others in NDCG@10 under letor4."""
    root = tmp_path_factory.mktemp("study")
    folders = [make_results(root, dataset, models=MODELS, queries=40) for dataset in ("mq2007", "my_data_2")]
    path = folders[0] / "methods/ranksvm/per_query.parquet"
    poor = pl.when(pl.col("convention") == "letor4").then(pl.col("ndcg@10") / 9).otherwise(pl.col("ndcg@10"))
    write_values(pl.read_parquet(path).with_columns(poor.alias("ndcg@10")), path.parent)
    for folder in folders:
        summary(folder, MODELS, "letor4")
    return [folder / "tables" for folder in folders]


def test_there_is_one_file_per_convention_and_every_label_is_unique(folders):
    labels = []
    for folder in folders:
        assert {f"main-{convention}.tex" for convention in CONVENTIONS} <= {path.name for path in folder.glob("*.tex")}
        for path in folder.glob("*.tex"):
            (table,) = read_latex(path.read_text())
            assert folder.parent.name in table.label
            assert path.stem.partition("-")[2] in f"{table.label} {table.caption}"
            labels.append(table.label)
    assert len(labels) == len(set(labels)) > 2 * len(CONVENTIONS)


def test_only_files_of_a_former_convention_are_removed(folders, tmp_path):
    folder = shutil.copytree(folders[0].parent, tmp_path / "mq2007")
    (folder / "tables/mine.tex").write_text("of the user")
    (folder / "tables/main-gone.tex").write_text("of a convention that is not evaluated any more")
    summary(folder, MODELS, "letor4")
    kept = {path.name for path in (folder / "tables").glob("*.tex")}
    assert kept == {path.name for path in folders[0].glob("*.tex")} | {"mine.tex"}


def test_the_methods_that_may_be_the_best_are_bold_and_the_caption_states_the_rule(folders):
    rows = {(row["convention"], row["model"], row["metric"]): row for row in read_tables(folders[0])["main"]}
    for convention in CONVENTIONS:
        (table,) = read_latex((folders[0] / f"main-{convention}.tex").read_text())
        _, *lines = table.lines
        order = [rows[convention, line[0], "ndcg@10"]["mean"] for line in lines]
        assert order == sorted(order, reverse=True)
        for column, metric in enumerate(METRICS, 1):
            p_best = {line[0]: rows[convention, line[0], metric]["p_best"] for line in lines}
            bold = {line[0] for line in lines if line[column].startswith("**")}
            level = {name for name, p in p_best.items() if p >= 0.05}
            assert bold == (level if len(level) < len(lines) else set())
        if convention == "letor4":
            assert {line[0] for line in lines if "**" not in line[4]} == {"ranksvm"}
        for words in ("mq2007", convention, "model confidence set", "95% confidence", "210 test queries"):
            assert words in table.caption


def test_text_is_escaped():
    assert latex_escape("a_b & 50% of `x_y` < 1 ± 2 − 3 {#}") == (
        "a\\_b \\& 50\\% of \\texttt{x\\_y} $<$ 1 $\\pm$ 2 $-$ 3 \\{\\#\\}"
    )
    assert latex_escape("C:\\~^|") == "C:\\textbackslash{}\\textasciitilde{}\\textasciicircum{}\\textbar{}"
    assert latex_escape("**0.5**") == "\\textbf{0.5}"


HOSTILE = "50% of A_B & C#1 {x} ~^|$ <5"


def test_hostile_text_in_every_place_keeps_the_structure():
    grid = Grid([HOSTILE, "b", "c"], "lrr", [[f"[{HOSTILE}", "*", HOSTILE], ["*x", "", "**1**"]], ["", HOSTILE, "g"])
    (table,) = read_latex(latex_document([latex_table(grid, HOSTILE, HOSTILE)]))
    assert "50% of A_B & C#1 {x}" in table.caption
    assert table.lines[2][0].startswith("{}[50% of A_B & C#1")


COLUMNS = (Column("a_name"), Column("value", "value", "+.2f"), Column("p", form=P), Column("side", form=VERDICT))


def table_of(lines=1, **options):
    row = {"a_name": "x & y", "value": -0.5, "p": 1e-6, "side": "not reproduced"}
    return Table("name", "Title", COLUMNS, [row] * lines, note="A `note`.", **options)


def test_a_table_longer_than_a_page_is_a_longtable():
    short, long = (latex(table_of(lines))[""] for lines in (PAGE, PAGE + 1))
    assert "longtable" not in short and "\\endfirsthead" in long
    assert len(read_latex(short)[0].lines) == PAGE + 1
    assert len(read_latex(long)[0].lines) >= PAGE + 2


def test_a_mark_of_a_verdict_is_left_out_and_the_word_is_kept():
    (table,) = read_latex(latex(table_of())[""])
    assert table.lines[1] == ["x & y", "−0.50", "<0.0001", "not reproduced"]


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_pdflatex_compiles_every_table(folders, tmp_path):
    paths = sorted(path for folder in folders for path in folder.glob("*.tex"))
    (tmp_path / "long.tex").write_text(latex(table_of(PAGE + 1))[""])
    parts = "\n".join(f"\\input{{{path}}}\\clearpage" for path in (*paths, tmp_path / "long.tex"))
    (tmp_path / "all.tex").write_text(
        f"\\documentclass{{article}}\\usepackage{{booktabs,graphicx,longtable}}\\begin{{document}}{parts}\\end{{document}}"
    )
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, done.stdout[-2000:]
    assert "multiply defined" not in done.stdout
