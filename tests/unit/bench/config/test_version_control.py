"""`gradrank init --git --dvc`: repositories are created or used as they are, and only new files are committed."""

import subprocess
import sys
from pathlib import Path

import pytest

from gradrank.base.errors import GradrankError
from gradrank.bench.config.project_folder import FILES, check, init, set_up

HAS_DVC = Path(sys.prefix, "bin/dvc").exists()


@pytest.fixture(autouse=True)
def identity(monkeypatch, tmp_path) -> Path:
    """A file that is git's only configuration, with a name and an e-mail address."""
    path = tmp_path / "gitconfig"
    path.write_text("[user]\nname = a\nemail = a@b\nuseConfigOnly = true\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(path))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    return path


def git(folder: Path, *arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=folder, check=True, text=True, capture_output=True)
    return done.stdout.splitlines()


def commits(folder: Path) -> list[str]:
    return git(folder, "log", "--format=%H")


def test_a_new_folder_becomes_a_repository_with_one_commit(tmp_path):
    folder = tmp_path / "my study"
    check(folder, True, False)
    set_up(folder, init(folder), True, False)
    assert set(git(folder, "ls-tree", "-r", "--name-only", "HEAD")) == set(FILES)
    assert git(folder, "status", "--porcelain") == [] and len(commits(folder)) == 1
    assert set_up(folder, init(folder), True, False) == [] and len(commits(folder)) == 1


def test_an_existing_repository_keeps_its_own_changes(tmp_path):
    git(tmp_path, "init", "--quiet")
    for name in ("edited", "staged"):
        (tmp_path / name).write_text("before")
    git(tmp_path, "add", "edited")
    git(tmp_path, "commit", "--quiet", "--message", "mine", "--", "edited")
    (tmp_path / "edited").write_text("after")
    git(tmp_path, "add", "staged")
    folder = tmp_path / "study"
    check(folder, True, False)
    assert "git init" not in set_up(folder, init(folder), True, False)
    assert set(git(tmp_path, "status", "--porcelain")) == {" M edited", "A  staged", "?? gitconfig"}
    assert set(git(folder, "ls-tree", "-r", "--name-only", "HEAD")) == set(FILES)

    (folder / "params.yaml").write_text("seed: 1\n")
    (folder / "dvc.yaml").unlink()
    git(folder, "commit", "--quiet", "--message", "without dvc.yaml", "--", "dvc.yaml")
    set_up(folder, init(folder, complete=True), True, False)
    assert git(folder, "status", "--porcelain", ".") == [" M study/params.yaml"]
    assert "dvc.yaml" in git(folder, "ls-files")


def test_what_is_missing_is_reported_before_anything_is_written(tmp_path, identity):
    with pytest.raises(GradrankError, match="needs a git repository"):
        check(tmp_path / "new", False, HAS_DVC or pytest.skip("needs dvc"))
    identity.write_text("[user]\nuseConfigOnly = true\n")
    with pytest.raises(GradrankError, match=r"user\.name .*user\.email"):
        check(tmp_path / "new", True, False)
    git(tmp_path, "init", "--quiet")
    (tmp_path / ".gitignore").write_text("new\n")
    with pytest.raises(GradrankError, match="ignores this folder"):
        check(tmp_path / "new", True, False)
    check(tmp_path / "new", False, False)  # without git and DVC, an ignored folder is as good as any other
    assert not (tmp_path / "new").exists()


def test_without_git_the_error_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    check(tmp_path, False, False)
    with pytest.raises(GradrankError, match="git is not installed"):
        check(tmp_path, True, False)


@pytest.mark.skipif(not HAS_DVC, reason="needs the extra `dvc`")
def test_dvc_is_set_up_in_the_folder_and_committed(tmp_path):
    git(tmp_path, "init", "--quiet")
    folder = tmp_path / "study"
    check(folder, True, True)
    set_up(folder, init(folder), True, True)
    assert {".dvc/config", ".dvcignore", "dvc.yaml"} <= set(git(folder, "ls-tree", "-r", "--name-only", "HEAD"))
    assert git(folder, "status", "--porcelain", ".") == []
    assert set_up(folder, init(folder), True, True) == []
