"""What Snakemake is made to say of what a user can mend."""

import time


def test_a_key_given_twice_is_named_with_both_lines(project):
    params = project.root / "params.yaml"
    text = params.read_text()
    params.write_text(f"{text}seed: 7\n")
    output = project.snakemake("--dry-run", ok=False)
    last = len(params.read_text().splitlines())
    first = text.splitlines().index("seed: 2005") + 1
    assert f"seed: given in line {first} and again in line {last}" in output and "Traceback" not in output
    params.write_text(text)
    (project.root / "mine.yaml").write_text("run: {models: [prank]}\nrun: {models: [mart]}\n")
    output = project.snakemake("--dry-run", "--configfile", "mine.yaml", ok=False)
    assert "mine.yaml:\n  run: given in line 1 and again in line 2" in output
    params.write_text("run: [")
    assert "params.yaml, line 1, column 7: not YAML" in project.snakemake("--dry-run", ok=False)


def test_a_misspelt_target_is_answered_with_the_names_there_are(project):
    output = project.snakemake("--dry-run", "sintetic_net", ok=False)
    assert "no target is called 'sintetic_net'; those there are, the nearest first: synthetic_net, " in output
    assert "No rule to produce data/x" in project.snakemake("--dry-run", "data/x", ok=False)


def test_a_second_run_is_told_which_process_is_alive(project):
    first = project.start("--cores", "1")
    try:
        deadline = time.monotonic() + 60
        while not list(project.root.glob(".snakemake/locks/*.lock")):
            assert first.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)
        output = project.snakemake("--cores", "1", ok=False)
        assert f"Another run is alive in this folder: process {first.pid} on " in output
        assert "--unlock" not in output
        project.snakemake("--cores", "1", "--dry-run")
    finally:
        first.terminate()
        first.wait()
