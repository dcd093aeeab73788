"""The last page: what the numbers were made from, so that they can be made again."""

import json
import subprocess
from pathlib import Path

from gradrank.report.contents import Fold, Study
from gradrank.report.pages.page import Page, render_page


def pages(study: Study) -> list[Page]:
    jobs = _jobs(study)
    body = render_page(
        "provenance.html",
        study=study,
        versions=package_versions(study),
        seeds=sorted({fold.spec["seed"] for fold in jobs}),
        processors=sorted({fold.spec.get("processor", "not recorded") for fold in jobs}),
        params=_params(study),
        revision=git_revision(study.root),
    )
    return [Page("provenance", "Provenance", body)]


def _jobs(study: Study) -> list[Fold]:
    return [fold for dataset in study.datasets for folds in dataset.folds.values() for fold in folds]


def package_versions(study: Study) -> dict[str, list[str]]:
    """Every version of each package that trained something: more than one is worth a look."""
    found: dict[str, set[str]] = {}
    for fold in _jobs(study):
        for package, version in fold.spec["versions"].items():
            found.setdefault(package, set()).add(version)
    return {package: sorted(versions) for package, versions in sorted(found.items())}


def _params(study: Study) -> dict[str, list[str]]:
    """The resolved parameters of each method as JSON; more than one where data sets differ."""
    found: dict[str, dict[str, None]] = {}
    for dataset in study.datasets:
        for model, folds in dataset.folds.items():
            for fold in folds:
                text = json.dumps(fold.spec["params"], indent=2, ensure_ascii=False)
                found.setdefault(model, {})[text] = None
    return {model: list(texts) for model, texts in sorted(found.items())}


def git_revision(folder: Path) -> str | None:
    """The commit of the files in `folder`, with a mark if tracked files are changed; None outside of git."""

    def git(*arguments: str) -> str | None:
        try:
            command = ["git", "-C", str(folder), *arguments]
            done = subprocess.run(command, capture_output=True, text=True, timeout=10)
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    commit = git("rev-parse", "HEAD")
    if commit and git("status", "--porcelain", "--untracked-files=no", "--", "src", "params.yaml"):
        return f"{commit}, with changes"
    return commit
