"""Methods that do not accept the missing values of a data set are named once, before any training."""

from project import Project

STORED = "data/parquet/gappy/collection.json"


def write_table(project: Project) -> None:
    """Write a table of ten queries. The feature `b` is missing in ten rows, and `c` in five."""
    rows = [
        f"{query},{row % 3},{row + query},{'' if row == 2 else row},{'' if row == query else query}"
        for query in range(10)
        for row in range(5)
    ]
    (project.root / "gappy.csv").write_text("\n".join(["qid,label,a,b,c", *rows]) + "\n")


def names_each_once(output: str) -> bool:
    line = next(line for line in output.splitlines() if "Fix: replace" in line)
    problem = line.partition("Fix:")[0]
    assert output.count("Fix: replace") == 1
    return all(problem.count(name) == 1 for name in ("'b'", "'c'", "ranksvm", "ranknet_linear", "single_feature"))


def test_all_methods_and_features_are_named_once_and_other_changes_rerun_nothing(project):
    write_table(project)
    trees, others = ["lambdamart"], ["ranknet_linear", "ranksvm", "single_feature"]
    project.params(run={"datasets": ["gappy"], "models": [*trees, *others]}, datasets={"gappy": {"path": "gappy.csv"}})
    output = project.snakemake("--cores", "1", "gappy", ok=False)
    assert "FAILED parse" in output and "FAILED train" not in output and names_each_once(output)
    assert not (project.root / "results").exists()

    project.params(run={"models": trees})
    project.snakemake("--cores", "1", STORED)
    project.params(run={"models": [*trees, "mart"]})
    assert project.plan(STORED) == {}

    project.params(run={"models": [*trees, *others]})
    output = project.snakemake("--dry-run", "gappy", ok=False)
    assert names_each_once(output) and "Traceback" not in output
    for change in ({"missing": "mean"}, {"ignore": ["b", "c"]}):
        project.params(datasets={"gappy": {"missing": None, "ignore": []} | change})
        assert set(project.plan(STORED).items()) == {(STORED, "parse"), ("data/parquet/gappy", "parse")}
    project.params(datasets={"gappy": {"missing": None, "ignore": []}})
    table = project.root / "gappy.csv"
    table.write_text(table.read_text().replace(",,", ",0,").replace(",\n", ",0\n"))
    assert set(project.plan(STORED).items()) == {(STORED, "parse"), ("data/parquet/gappy", "parse")}
