"""Errors that a user can correct before any job runs: parameters, targets, a folder in use."""

import time


def test_a_duplicate_key_is_named_with_both_lines(project):
    params = project.root / "params.yaml"
    text = params.read_text()
    params.write_text(f"{text}seed: 7\n")
    output = project.snakemake("--dry-run", ok=False)
    last = len(params.read_text().splitlines())
    first = text.splitlines().index("seed: 2005") + 1
    assert "seed" in output and f"line {first} " in output and f"line {last}" in output
    assert "Traceback" not in output
    params.write_text(text)
    (project.root / "mine.yaml").write_text("run: {models: [prank]}\nrun: {models: [mart]}\n")
    output = project.snakemake("--dry-run", "--configfile", "mine.yaml", ok=False)
    assert "mine.yaml" in output and "run" in output and "line 1 " in output and "line 2" in output
    params.write_text("run: [")
    assert "params.yaml, line 1, column 7" in project.snakemake("--dry-run", ok=False)


def test_an_unknown_target_is_named(project):
    assert "sintetic_net" in project.snakemake("--dry-run", "sintetic_net", ok=False)
    assert "data/x" in project.snakemake("--dry-run", "data/x", ok=False)


def test_a_second_run_in_the_same_folder_is_refused(project):
    first = project.start("--cores", "1")
    try:
        deadline = time.monotonic() + 60
        while not list(project.root.glob("results/**/*.json")):
            assert first.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)
        project.snakemake("--cores", "1", ok=False)
        project.snakemake("--cores", "1", "--dry-run")
    finally:
        first.terminate()
        first.wait()
