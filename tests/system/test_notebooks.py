"""The notebooks in docs/notebooks and docs/learn: their form, and their code cells in a process without Jupyter."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree

import pytest

import notebook_cells
from notebook_cells import LEARN, NOTEBOOKS, ROOT, copy_notebooks, is_setup

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NAMES = {"first_ranking", "own_tables", "ndcg_conventions", "comparing_rankings", "grid_search", "paper_figure"}
NAMES |= {"click_log"}
each_notebook = pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)


def cells_of(notebook: Path, kind: str) -> list[str]:
    """Return the sources of the cells of a kind, `code` or `markdown`, without the cell for Colab."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == kind and not is_setup(cell)]


def linked_files(notebook: Path) -> list[str]:
    """Return the targets of the links of a notebook, without web addresses."""
    targets = re.findall(r"\]\(([^)#\s]+)\)", "\n".join(cells_of(notebook, "markdown")))
    return [target for target in targets if not target.startswith("https://")]


@pytest.fixture(scope="module")
def run_notebook(tmp_path_factory):
    """Return a function that runs the code cells of a notebook file in its folder. The cache starts empty."""
    cache = tmp_path_factory.mktemp("cache")

    def run(notebook: Path, **further: str) -> subprocess.CompletedProcess:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GRADRANK_")}
        environment |= {"PYTHONPATH": str(ROOT / "src"), "GRADRANK_CACHE": str(cache)} | further
        command = [sys.executable, notebook_cells.__file__, notebook]
        return subprocess.run(command, cwd=notebook.parent, env=environment, text=True, capture_output=True)

    return run


def write_notebook(path: Path, *sources: str) -> Path:
    cells = [
        {"cell_type": "code", "id": f"cell-{i}", "metadata": {}, "source": [source]} for i, source in enumerate(sources)
    ]
    path.write_text(json.dumps({"cells": cells}))
    return path


def test_the_notebooks_are_complete():
    assert {path.stem for path in NOTEBOOKS} == NAMES


@each_notebook
def test_the_form_is_nbformat_4_5_without_outputs(notebook):
    content = json.loads(notebook.read_text(encoding="utf-8"))
    assert content.keys() == {"cells", "metadata", "nbformat", "nbformat_minor"}
    assert (content["nbformat"], content["nbformat_minor"]) == (4, 5)
    assert content["metadata"]["kernelspec"] == {"display_name": "Python 3", "language": "python", "name": "python3"}
    common = {"cell_type", "id", "metadata", "source"}
    assert [cell["metadata"] for cell in content["cells"] if cell["metadata"]] == [{"tags": ["setup"]}]
    for cell in content["cells"]:
        is_code = cell["cell_type"] == "code"
        assert is_code or cell["cell_type"] == "markdown"
        assert cell.keys() == (common | {"execution_count", "outputs"} if is_code else common)
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", cell["id"])
        if is_code:
            assert cell["outputs"] == [] and cell["execution_count"] is None
    ids = [cell["id"] for cell in content["cells"]]
    assert len(set(ids)) == len(ids)


@each_notebook
def test_a_title_begins_the_notebook_and_links_lead_to_files(notebook):
    assert cells_of(notebook, "markdown")[0].startswith("# ")
    for target in linked_files(notebook):
        assert (notebook.parent / target).is_file(), target


@pytest.mark.parametrize("notebook", [*NOTEBOOKS, *LEARN], ids=lambda path: path.stem)
def test_the_buttons_open_this_notebook_and_one_cell_installs_gradrank_in_colab(notebook):
    path = notebook.relative_to(ROOT).as_posix()
    title = cells_of(notebook, "markdown")[0]
    assert f"https://colab.research.google.com/github/gradrank/gradrank/blob/main/{path})" in title
    assert f"https://mybinder.org/v2/gh/gradrank/gradrank/main?labpath={quote(path, safe='')})" in title
    _, setup, *others = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    assert is_setup(setup) and not any(map(is_setup, others)) and setup["outputs"] == []
    source = "".join(setup["source"])
    assert (
        '"google.colab" in sys.modules' in source
        and f'os.chdir("/content/gradrank/{path.rpartition("/")[0]}")' in source
    )
    extras = set(re.findall(r"gradrank\[([\w,]+)\]", source)[0].split(","))
    assert extras <= PROJECT["optional-dependencies"].keys()
    assert (ROOT / ".binder/requirements.txt").read_text(encoding="utf-8") == f".[{','.join(sorted(extras))}]\n"


@each_notebook
def test_pin_comes_before_any_other_import(notebook):
    code = "\n".join(cells_of(notebook, "code"))
    if "Ranker(" in code:
        assert code.startswith("import gradrank\n\ngradrank.pin()\n")


@each_notebook
def test_every_cell_runs_and_its_assertions_hold(notebook, run_notebook, tmp_path):
    assert sum(source.count("assert ") for source in cells_of(notebook, "code")) >= 3
    done = run_notebook(copy_notebooks(tmp_path) / notebook.name)
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr


def test_the_figure_and_the_table_are_files_for_a_paper(run_notebook, tmp_path):
    folder = copy_notebooks(tmp_path)
    assert run_notebook(folder / "paper_figure.ipynb").returncode == 0
    figure = ElementTree.parse(folder / "differences.svg").getroot()
    shape = {"svg": "http://www.w3.org/2000/svg"}
    dots = [float(dot.attrib["cx"]) for dot in figure.iterfind("svg:circle", shape)]
    bars = [(float(bar.attrib["x1"]), float(bar.attrib["x2"])) for bar in figure.iterfind("svg:line", shape)][1:]
    assert dots == sorted(dots, reverse=True)
    assert all(0 <= low < dot < high <= 640 for dot, (low, high) in zip(dots, bars, strict=True))
    table = (folder / "comparison.tex").read_text()
    assert table.count(r"\begin{tabular}") == table.count(r"\end{tabular}") == 1


def test_missing_results_are_an_error_with_a_fix(run_notebook, tmp_path):
    (notebook,) = [path for path in NOTEBOOKS if path.stem == "paper_figure"]
    copy = tmp_path / notebook.name
    copy.write_bytes(notebook.read_bytes())
    done = run_notebook(copy)
    assert done.returncode != 0
    assert "results/mq2007/queries.parquet was not found" in done.stderr and "Fix:" in done.stderr


def test_cells_share_a_namespace_and_the_last_expression_is_shown(run_notebook, tmp_path):
    done = run_notebook(write_notebook(tmp_path / "a.ipynb", "x = 20", "x += 1\n2 * x", "None"))
    assert (done.returncode, done.stdout) == (0, "42\n")


def test_a_failing_cell_stops_the_run_and_is_named(run_notebook, tmp_path):
    done = run_notebook(write_notebook(tmp_path / "a.ipynb", "1", "assert False", "print('later')"))
    assert done.returncode != 0
    assert "cell cell-1" in done.stderr and "later" not in done.stdout


@pytest.mark.parametrize("notebook", LEARN, ids=lambda path: path.stem)
def test_a_page_of_the_chapter_has_its_outputs_exercises_and_links(notebook):
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    outputs = [output for cell in code for output in cell["outputs"]]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert {output["output_type"] for output in outputs} <= {"display_data", "execute_result"}  # no error, no warning
    assert any("image/png" in output["data"] for output in outputs)
    assert notebook.stat().st_size < 300_000
    text = "\n".join(cells_of(notebook, "markdown"))
    exercises = text.partition("## Exercises\n")[2].partition("### Solutions")
    assert re.findall(r"^(\d)\. ", exercises[0], re.MULTILINE) == ["1", "2", "3"] and exercises[2]
    assert "(glossary.md)" in text
    for target in linked_files(notebook):
        assert (notebook.parent / target).is_file(), target


@pytest.mark.parametrize("notebook", LEARN, ids=lambda path: path.stem)
def test_a_page_of_the_chapter_runs_without_a_network(notebook, run_notebook, tmp_path):
    pytest.importorskip("matplotlib", reason="needs matplotlib: pip install '.[plots]'")
    copy = tmp_path / notebook.name
    copy.write_bytes(notebook.read_bytes())
    done = run_notebook(copy, https_proxy="http://127.0.0.1:9", MPLBACKEND="agg")
    assert done.returncode == 0, done.stderr


def test_the_terms_of_the_chapter_are_in_the_glossary():
    terms = re.findall(
        r"^\*\*(.+)\*\*\n:   ", (ROOT / "docs/learn/glossary.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    words = {word.strip() for term in terms for word in term.lower().split(",")}
    assert {"ndcg", "lambda", "ranknet", "lambdarank", "lambdamart", "holm's correction", "tie"} <= words
    assert len(terms) == len(set(terms)) > 25
