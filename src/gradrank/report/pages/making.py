"""The last page: what the numbers were made from, so that they can be made again."""

from gradrank.report.contents import Contents, ReportedFold
from gradrank.report.pages.page import Page, render_page


def pages(contents: Contents) -> list[Page]:
    jobs = _jobs(contents)
    body = render_page(
        "provenance.html",
        contents=contents,
        versions=package_versions(contents),
        seeds=sorted({fold.spec["seed"] for fold in jobs}),
        processors=sorted({fold.spec.get("processor", "not recorded") for fold in jobs}),
    )
    return [Page("provenance", "Provenance", body)]


def _jobs(contents: Contents) -> list[ReportedFold]:
    return [fold for dataset in contents.datasets for folds in dataset.folds.values() for fold in folds]


def package_versions(contents: Contents) -> dict[str, list[str]]:
    """Every version of each package that trained something: more than one is worth a look."""
    found: dict[str, set[str]] = {}
    for fold in _jobs(contents):
        for package, version in fold.spec["versions"].items():
            found.setdefault(package, set()).add(version)
    return {package: sorted(versions) for package, versions in sorted(found.items())}
