"""Run the code cells of a notebook in order: `python notebook_cells.py NOTEBOOK`.

Needs only the standard library, so that notebooks run in environments without Jupyter. As in Jupyter, all cells share
one namespace, and the value of the last expression of a cell is shown. An error stops the run.
"""

import ast
import json
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))
LEARN = sorted((ROOT / "docs/learn").glob("*.ipynb"))
RESULTS = ("mq2007/queries.parquet", "mq2007/summary.json", "synthetic_net/queries.parquet")  # the notebooks read these


def copy_notebooks(folder: Path) -> Path:
    """Copy the notebooks and the results that they read, as in a checkout, and return the folder of the notebooks."""
    for name in RESULTS:
        (folder / "results" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / "results" / name, folder / "results" / name)
    return shutil.copytree(ROOT / "docs/notebooks", folder / "docs/notebooks")


def is_setup(cell: dict) -> bool:
    """Return whether a cell installs gradrank in Colab. On other machines, it does nothing."""
    return "setup" in cell["metadata"].get("tags", ())


def run_cells(notebook: Path) -> None:
    """Run every code cell, and print the value of its last expression."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    namespace = {"__name__": "__main__"}
    for cell in cells:
        if cell["cell_type"] == "code":
            _run_cell("".join(cell["source"]), f"{notebook.name}, cell {cell['id']}", namespace)


def _run_cell(source: str, name: str, namespace: dict) -> None:
    *statements, last = ast.parse(source, name).body
    shown = last.value if isinstance(last, ast.Expr) else None
    exec(compile(ast.Module(statements if shown else [*statements, last], type_ignores=[]), name, "exec"), namespace)
    if shown is not None:
        value = eval(compile(ast.Expression(shown), name, "eval"), namespace)
        if value is not None:
            print(value)


if __name__ == "__main__":
    run_cells(Path(sys.argv[1]))
