"""The page Provenance: the data, parameters, seeds and package versions that the numbers were computed from."""

from gradrank.bench.report.contents import Contents, ReportedFold
from gradrank.bench.report.pages.page import Page, render_page


def pages(contents: Contents) -> list[Page]:
    """Return a list with one page."""
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
    """Return the folds of all methods on all data sets."""
    return [fold for dataset in contents.datasets for folds in dataset.folds.values() for fold in folds]


def package_versions(contents: Contents) -> dict[str, list[str]]:
    """Return the versions of each package that were used in training, sorted by package.

    Several versions of one package mean that the models were trained in different environments.
    """
    by_package: dict[str, set[str]] = {}
    for fold in _jobs(contents):
        for package, version in fold.spec["versions"].items():
            by_package.setdefault(package, set()).add(version)
    return {package: sorted(versions) for package, versions in sorted(by_package.items())}
