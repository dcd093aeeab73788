"""A git revision, or a DVC experiment, which is a commit too, as a Side. Nothing is checked out.

Git holds summary.json and params.yaml; DVC, by the hash in dvc.lock, the values a query: in its cache, else in
its remote.
"""

import hashlib
import io
import json
import re
import subprocess
import tarfile
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import yaml

from gradrank.diff.results import DEFAULT_CONVENTION, faults, measured, methods_of, of_provenance, params_of
from gradrank.diff.side import Side
from gradrank.dotted import flat
from gradrank.errors import GradrankError

if TYPE_CHECKING:
    import polars as pl

Files = Mapping[str, bytes]

_EXPERIMENT = re.compile(r"refs/exps/[0-9a-f]{2}/[0-9a-f]{38}/(?P<name>.+)")
_CODE = re.compile(r"Snakefile|workflow/rules/.*|src/.*\.(py|yaml|csv)")  # what results depend on


def find_commit(name: str) -> tuple[str, str] | None:
    """The commit that a git revision or a DVC experiment is called by, and which of them it is."""
    if found := _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"):
        return found.decode().strip(), "git revision"
    listed = _git("for-each-ref", "--format=%(objectname) %(refname)", "refs/exps") or b""
    commits = {
        commit
        for commit, ref in (line.split(" ", 1) for line in listed.decode().splitlines())
        if (match := _EXPERIMENT.fullmatch(ref)) and match["name"] == name
    }
    if len(commits) > 1:
        raise GradrankError(
            f"{name}: {len(commits)} experiments have this name, on different revisions; give the commit of one "
            f"of them: {', '.join(sorted(commits))}"
        )
    return (commits.pop(), "DVC experiment") if commits else None


def read_revision(name: str, kind: str, commit: str) -> Side:
    """Raises GradrankError where the revision holds no results."""
    files = _files(commit)
    read = _reader(commit, files)
    summaries = {
        path.split("/")[1]: json.loads(text)
        for path, text in sorted(files.items())
        if re.fullmatch(r"results/[^/]+/summary\.json", path)
    }
    known, notices = _known(files, read, list(summaries))
    values, cure = {}, ""
    try:
        values = measured(_parquet(read("results/per_query.parquet")), known["conventions"])
    except GradrankError as error:
        cure = str(error)
    if not summaries and not values:
        raise GradrankError(
            f"{name}: no results/<dataset>/summary.json there; run in the project's own folder"
        )
    return Side(
        name=name,
        kind=kind,
        revision=commit,
        methods=methods_of(summaries, values, {}),
        notices=(*notices, *faults(summaries, values, cure or "run the workflow for it")),
        **known,
    )


def _files(commit: str) -> Files:
    """Every committed file by its path from the working folder."""
    archive = _git("archive", "--format=tar", commit)
    if archive is None:
        raise GradrankError(f"{commit}: git cannot read this commit's files from here")
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        return {each.name: tar.extractfile(each).read() for each in tar if each.isfile()}


def _reader(commit: str, files: Files) -> Callable[[str], bytes]:
    """A function from a path to what the commit holds there, in git or in DVC; else it raises GradrankError."""
    lock = yaml.safe_load(files.get("dvc.lock", b"")) or {"stages": {}}
    outs = {out["path"] for stage in lock["stages"].values() for out in stage.get("outs", [])}

    def read(path: str) -> bytes:
        if path in files:
            return files[path]
        if not outs & {path, str(PurePosixPath(path).parent)}:
            raise GradrankError(
                "no dvc.lock that names them is committed there; run the workflow in a checkout of it "
                f"(`git worktree add FOLDER {commit[:12]}`) and compare with FOLDER"
            )
        try:
            from dvc.api import DVCFileSystem
            from dvc.exceptions import DvcException
        except ImportError:
            raise GradrankError("DVC has them and is not installed: pip install 'gradrank[dvc]'") from None
        try:
            return DVCFileSystem(".", rev=commit).read_bytes(path)
        except (DvcException, OSError) as error:
            raise GradrankError(
                f"DVC has them neither in its cache nor in a remote ({error}); `dvc push` where they were made, "
                f"or `dvc repro` in a checkout of {commit[:12]}"
            ) from None

    return read


def _parquet(content: bytes) -> "pl.DataFrame":
    import polars as pl

    return pl.read_parquet(io.BytesIO(content))


def _known(
    files: Files, read: Callable[[str], bytes], datasets: list[str]
) -> tuple[dict[str, Any], list[str]]:
    """How the results were made: provenance.json, else what is committed beside them; and what to know of it."""
    try:
        return of_provenance(json.loads(read("results/provenance.json"))), []
    except GradrankError:
        pass
    study = yaml.safe_load(files.get("params.yaml", b"")) or {}
    convention = (study.get("evaluation") or {}).get("convention", DEFAULT_CONVENTION)
    params, notices = _params(study, datasets)
    code = {path: hashlib.sha256(text).hexdigest() for path, text in files.items() if _CODE.fullmatch(path)}
    return {
        "conventions": dict.fromkeys(datasets, convention),
        "params": params,
        "data": {dataset: _data(read, dataset) for dataset in datasets},
        "code": dict.fromkeys(datasets, code),
    }, notices


def _params(study: Mapping[str, Any], datasets: list[str]) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """params.yaml resolved, as results record it; without its checks where the present code refuses it."""
    from gradrank.params import check

    try:
        checked = check(study).model_dump(mode="json")
    except GradrankError as error:
        fault = str(error).splitlines()[-1].strip()
        notice = (
            f"the present code refuses its params.yaml ({fault}): compared as written, with present defaults"
        )
        return dict.fromkeys(datasets, _unchecked(study)), [notice]
    own = {key: checked[key] for key in ("seed", "models", "evaluation")}
    settings = {dataset: checked["datasets"].get(dataset) or {} for dataset in datasets}
    return {dataset: params_of(dataset, own | {"dataset": settings[dataset]}) for dataset in datasets}, []


def _unchecked(study: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Seed and models as written, over the defaults of the models that are still registered."""
    from gradrank.model import models

    found: dict[str, dict[str, Any]] = {"": {"seed": study.get("seed")}}
    for name, values in (study.get("models") or {}).items():
        defaults = models()[name].Params().model_dump(mode="json") if name in models() else {}
        found[f"models.{name}"] = flat(defaults) | flat(values or {})
    return found


def _data(read: Callable[[str], bytes], dataset: str) -> dict[str, str]:
    """The hash of the text that the collection was parsed from, if DVC has its description."""
    try:
        return {"source": json.loads(read(f"data/parquet/{dataset}.json"))["source_sha256"]}
    except GradrankError:
        return {}


def _git(*arguments: str) -> bytes | None:
    """What git prints; None where it fails or is not there."""
    try:
        done = subprocess.run(["git", *arguments], capture_output=True)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None
