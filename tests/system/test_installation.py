"""`pip install .` in fresh environments: its size, what works with it, and what each extra adds.

The versions are those of requirements.lock, so that torch is the build for the CPU if an index has it. Takes three
minutes.
"""

from pathlib import Path

import pytest

import notebook_cells
from environments import OFFLINE, UV, Environment, InstallError, copy_sources, locked_versions
from gradrank.base.files import read_json
from notebook_cells import NOTEBOOKS, copy_notebooks

MEGABYTES = 700  # largest size of the installation without extras
OPTIONAL = {"catboost", "dvc", "mlflow", "onnx", "onnxruntime", "pandas", "pyarrow", "snakemake", "sqlalchemy", "torch"}
OPTIONAL |= {"xgboost-cpu"}

pytestmark = pytest.mark.skipif(not UV.exists(), reason="needs uv, which requirements.lock has")


@pytest.fixture(scope="module")
def install(tmp_path_factory):
    """Return a function that makes an environment with an extra, such as `[nets]`, of this checkout."""
    base = tmp_path_factory.mktemp("environments")
    source, constraints = copy_sources(base / "source"), locked_versions(base)

    def installed(extra: str) -> Environment:
        environment = Environment(base / (extra.strip("[]") or "core"), base / "cache").create()
        try:
            environment.install("--constraint", constraints, f"gradrank{extra} @ {source.as_uri()}")
        except InstallError as error:
            if any(reason in str(error) for reason in OFFLINE):
                pytest.skip(f"needs the packages of requirements.lock from an index: {str(error)[-300:]}")
            raise
        return environment

    return installed


@pytest.fixture(scope="module")
def core(install) -> Environment:
    return install("")


@pytest.fixture(scope="module")
def nets(install) -> Environment:
    return install("[nets]")


@pytest.fixture(scope="module")
def artificial(core, tmp_path_factory) -> Path:
    """A folder with LETOR text in raw/ and the stored collection in small/."""
    folder = tmp_path_factory.mktemp("artificial")
    arguments = ("--queries", "20", "--documents", "10", "--seed", "1", "--out", "raw")
    core.run("gradrank", "generate", "net", *arguments, cwd=folder)
    core.run("gradrank", "parse", "raw", "--out", "small", "--seed", "1", cwd=folder)
    return folder


def train_and_evaluate(environment: Environment, model: str, raw: str, stored: str, folder: Path) -> float:
    """Train on the first fold, evaluate the test scores, and return NDCG@10."""
    out = f"results/{stored}/methods/{model}/fold1"
    environment.run("gradrank", "train", "--model", model, "--data", stored, "--seed", "1", "--out", out, cwd=folder)
    arguments = ("--scores", f"{out}/scores.parquet", "--data", raw, "--metrics", "ndcg@10")
    return float(environment.run("gradrank", "evaluate", *arguments, cwd=folder).split()[1])


def test_the_core_is_small_and_has_no_optional_package(core):
    assert not OPTIONAL & core.versions().keys()
    assert core.megabytes() < MEGABYTES


def test_the_core_trains_and_evaluates_trees(core, artificial):
    core.run("python", "-c", "import gradrank", cwd=artificial)
    train_and_evaluate(core, "lambdamart", "raw/S5.txt", "small", artificial)
    versions = read_json(artificial / "results/small/methods/lambdamart/fold1/spec.json")["versions"]
    assert "lightgbm" in versions and not OPTIONAL & versions.keys()


def test_the_core_reads_real_data(core, mirror, tmp_path):
    core.run("gradrank", "fetch", "mq2007", "--out", "raw", "--mirror", mirror, cwd=tmp_path)
    core.run("gradrank", "parse", "raw", "--out", "mq2007", "--seed", "2005", cwd=tmp_path)
    (test,) = tmp_path.glob("raw/**/Fold1/test.txt")
    assert train_and_evaluate(core, "lambdamart", str(test), "mq2007", tmp_path) > 0.4


@pytest.mark.parametrize(
    ("extra", "command"),
    [
        ("nets", ("train", "--model", "softmax", "--data", "small", "--seed", "1", "--out", "net/fold1")),
        ("catboost", ("train", "--model", "yetirank", "--data", "small", "--seed", "1", "--out", "net/fold1")),
        ("arrow", ("inspect", "a.csv")),
        ("arrow", ("inspect", "a.parquet")),
        ("arrow", ("inspect", "a.txt.zst")),
    ],
)
def test_a_missing_extra_is_named(core, artificial, extra, command):
    for name in ("a.csv", "a.parquet", "a.txt.zst"):
        (artificial / name).write_bytes(b"qid,label,x\n1,1,0.5\n")
    output = core.run("gradrank", *command, cwd=artificial, ok=False)
    assert f"pip install 'gradrank[{extra}]'" in output and "Traceback" not in output


def test_the_core_exports_models_and_names_the_extra_for_onnx(core, artificial):
    fold = "results/small/methods/regression/fold1"
    train_and_evaluate(core, "regression", "raw/S5.txt", "small", artificial)
    export = ("gradrank", "export-model", fold, "--check", "raw/S5.txt")
    assert " documents have the scores " in core.run(*export, "--to", "linear", "--out", "w.csv", cwd=artificial)
    output = core.run(*export, "--to", "onnx", "--out", "w.onnx", cwd=artificial, ok=False)
    assert "pip install 'gradrank[onnx]'" in output and "Traceback" not in output


def test_nets_trains_a_net(nets, artificial):
    train_and_evaluate(nets, "softmax", "raw/S5.txt", "small", artificial)


TABLES = "own_tables"  # reads tables, for which it needs the extra `arrow`


@pytest.mark.parametrize("notebook", [path for path in NOTEBOOKS if path.stem != TABLES], ids=lambda path: path.stem)
def test_nets_runs_the_notebooks(nets, notebook, tmp_path, tmp_path_factory, monkeypatch):
    assert not {"ipython", "matplotlib", "pandas", "pyarrow", "snakemake"} & nets.versions().keys()
    monkeypatch.setenv("GRADRANK_CACHE", str(tmp_path_factory.getbasetemp() / "datasets"))
    nets.run("python", notebook_cells.__file__, notebook.name, cwd=copy_notebooks(tmp_path))


def test_arrow_runs_the_notebook_about_tables(install, tmp_path, tmp_path_factory, monkeypatch):
    monkeypatch.setenv("GRADRANK_CACHE", str(tmp_path_factory.getbasetemp() / "datasets"))
    install("[arrow,nets]").run("python", notebook_cells.__file__, f"{TABLES}.ipynb", cwd=copy_notebooks(tmp_path))


def test_workflow_and_track_plan_the_default_targets(install, tmp_path):
    environment = install("[workflow,track]")
    assert not {"torch", "dvc"} & environment.versions().keys()
    environment.run("gradrank", "init", ".", cwd=tmp_path)
    assert "This was a dry-run" in environment.run("snakemake", "--dry-run", "--quiet", "rules", cwd=tmp_path)


def test_all_has_every_optional_package(install, artificial):
    environment = install("[all]")
    assert environment.versions().keys() >= OPTIONAL
    assert "snakemake" in environment.run("snakemake", "--help", cwd=artificial)
    train_and_evaluate(environment, "yetirank", "raw/S5.txt", "small", artificial)
