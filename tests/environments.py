"""Fresh virtual environments with this checkout's package in them, made by uv."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = (
    "src",
    "workflow",
    "profiles",
    "tests",
    "docs",
    "examples",
    "studies",
    "conftest.py",
    "pyproject.toml",
    "MANIFEST.in",
)
SOURCES += ("README.md", "CHANGELOG.md", "CITATION.cff", "LICENSE", "Snakefile", "params.yaml", ".gitignore")
SOURCES += (".dvcignore", "results/mq2007/queries.parquet", "results/ohsumed/queries.parquet")
UV = Path(sys.executable).with_name("uv")
# Parts of the messages of uv if an index is out of reach or lacks a package.
OFFLINE = ("dns error", "error sending request", "Failed to fetch", "network", "not found in the package registry")


class InstallError(Exception):
    """uv could not install the packages. The message is uv's."""


@dataclass(frozen=True)
class Environment:
    """A virtual environment in `folder`. Environments with the same `cache` share downloaded packages."""

    folder: Path
    cache: Path
    python: str = sys.executable

    def create(self) -> "Environment":
        """Make the environment without packages."""
        subprocess.run([UV, "venv", "--quiet", "--python", self.python, self.folder], check=True)
        return self

    def install(self, *arguments: str | Path) -> None:
        """Run `uv pip install` in this environment. Raises InstallError."""
        command = [UV, "pip", "install", "--quiet", "--python", self.folder, "--cache-dir", self.cache, *arguments]
        done = subprocess.run(command, env=_uv_settings(), text=True, capture_output=True)
        if done.returncode:
            raise InstallError(done.stderr)

    def run(self, command: str, *arguments: str | Path, cwd: Path, ok: bool = True) -> str:
        """Run a command of this environment in `cwd`, check its exit code, and return its output, errors included."""
        folder = self.folder / "bin"
        environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
        environment |= {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
        done = subprocess.run(
            [folder / command, *arguments],
            cwd=cwd,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert (done.returncode == 0) == ok, f"{command} {' '.join(map(str, arguments))}\n{done.stdout}"
        return done.stdout

    def frozen(self) -> str:
        """Return the installed packages and their versions as text that pip accepts as constraints."""
        command = [UV, "pip", "freeze", "--python", self.folder]
        return subprocess.run(command, check=True, text=True, capture_output=True).stdout

    def versions(self) -> dict[str, str]:
        """Return a dict from the names of the installed packages to their versions, without build tags."""
        found = re.findall(r"^([\w.-]+)==(\S+)", self.frozen(), re.M)
        return {name: version.partition("+")[0] for name, version in found}

    def megabytes(self) -> float:
        """Return the size of the installed packages."""
        return sum(path.lstat().st_size for path in self.folder.rglob("*") if path.is_file()) / 1e6


def _uv_settings() -> dict[str, str]:
    """Return the environment variables, with pip's sources of packages as uv's. uv does not read pip's variables."""
    names = {
        "PIP_FIND_LINKS": "UV_FIND_LINKS",
        "PIP_EXTRA_INDEX_URL": "UV_EXTRA_INDEX_URL",
        "PIP_CERT": "SSL_CERT_FILE",
    }
    return {uv: os.environ[pip] for pip, uv in names.items() if pip in os.environ} | os.environ


def locked_versions(folder: Path) -> Path:
    """Write a constraints file with the versions of requirements.lock into `folder`, and return its path."""
    pinned = re.findall(r"^[\w.-]+==\S+", (ROOT / "requirements.lock").read_text(encoding="utf-8"), re.M)
    path = folder / "constraints.txt"
    path.write_text("\n".join(pinned) + "\n", encoding="utf-8")
    return path


def copy_sources(folder: Path) -> Path:
    """Copy the files from which the package is built into `folder`, and return it."""
    folder.mkdir(parents=True)
    for name in SOURCES:
        source, ignored = ROOT / name, shutil.ignore_patterns("__pycache__", "*.egg-info", "build")
        if source.is_dir():
            shutil.copytree(source, folder / name, symlinks=True, ignore=ignored)
        else:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, folder / name)
    return folder
