"""The commit of the results is marked as dirty if code or parameters differ from it, but not if results do."""

import subprocess

from gradrank.bench.git import git, revision


def test_the_revision_is_dirty_if_code_or_parameters_changed(tmp_path, monkeypatch):
    project = tmp_path / "monorepo/a project"
    for folder in ("src", "results"):
        (project / folder).mkdir(parents=True)
        (project / folder / "file").write_text("first")
    (project / "params.yaml").write_text("seed: 1\n")
    assert revision(project) is None
    author = ("-c", "user.name=a", "-c", "user.email=a@b")
    for command in (("init", "--quiet"), ("add", "."), (*author, "commit", "--quiet", "-m", "first")):
        subprocess.run(["git", *command], cwd=tmp_path / "monorepo", check=True)
    commit = git("rev-parse", "HEAD", folder=project).decode().strip()
    assert len(commit) == 40 and revision(project) == commit
    (project / "results/file").write_text("made again")
    (project / "src/new").touch()  # not in git
    assert revision(project) == commit
    for changed in ("src/file", "params.yaml"):
        before = (project / changed).read_text()
        (project / changed).write_text("other")
        assert revision(project) == f"{commit}-dirty"
        (project / changed).write_text(before)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert revision(project) is None
