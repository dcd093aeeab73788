"""Opening an MLflow store: made whole or not at all, one writer at a time, errors that a user can act on.

MLflow keeps runs in a database, by default `sqlite:///mlflow.db` in the current folder (its file store is
refused since MLflow 3), with artefacts in `mlartifacts/` beside it. Two processes that create a fresh SQLite
store at once corrupt it, and so does one that is killed meanwhile; hence the lock and the rename.
"""

import fcntl
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from gradrank.errors import GradrankError

if TYPE_CHECKING:
    from mlflow import MlflowClient

DEFAULT_URI = "sqlite:///mlflow.db"
EXPERIMENT = "gradrank"

# No telemetry and no chatter; a server that is down is noticed within a minute (MLflow's own retries
# take four). A user's own settings win.
_ENVIRONMENT = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    "MLFLOW_LOGGING_LEVEL": "ERROR",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "20",
}


@contextmanager
def open_store(uri: str) -> Iterator[tuple["MlflowClient", str]]:
    """A client on the store at `uri` and the id of the experiment `gradrank`, which is made if missing.

    Holds the store's lock where it is SQLite. Whatever fails inside, in MLflow, its database or the file
    system, is raised as a GradrankError that names the store.
    """
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    from mlflow import MlflowClient
    from mlflow.exceptions import MlflowException
    from sqlalchemy.exc import SQLAlchemyError

    try:
        absolute, database = _located(uri)
        lock = exclusive(database.with_name(f"{database.name}.lock")) if database else nullcontext()
        with lock:
            if database and not database.exists():
                _create(database)
            client = MlflowClient(absolute)
            yield client, _experiment(client, database)
    except (MlflowException, SQLAlchemyError, OSError) as error:
        raise GradrankError(
            f"{_without_password(f'MLflow at {uri}: {error}'[:600])}\n"
            "All results are finished and kept. Start the server or set MLFLOW_TRACKING_URI to another store "
            f"(unset: {DEFAULT_URI}), then repeat the same command: it imports what is missing."
        ) from error


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold the lock file `path`, waiting for another holder; the system frees it when its holder dies."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"waiting for another import to release {path}", file=sys.stderr, flush=True)
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def _located(uri: str) -> tuple[str, Path | None]:
    """A SQLite URI with an absolute path, since MLflow caches stores by URI, and its file."""
    if not uri.startswith("sqlite"):
        return uri, None
    from sqlalchemy.engine import make_url

    url = make_url(uri)
    if url.database in (None, "", ":memory:"):
        return uri, None
    database = Path(url.database).absolute()
    if "?" in str(database):
        raise GradrankError(
            f"MLflow at {uri}: {database.parent}: a path with `?` cannot stand in a SQLite address. Fix: rename the "
            "folder, or set MLFLOW_TRACKING_URI to another store"
        )
    return url.set(database=str(database)).render_as_string(hide_password=False), database


def _create(database: Path) -> None:
    """Make a store's tables under another name, then rename: a kill half way leaves no half-made database."""
    from mlflow import MlflowClient

    partial = database.with_name(f"{database.name}.partial")
    for suffix in ("", "-journal", "-wal", "-shm"):  # left by an import that was killed
        partial.with_name(partial.name + suffix).unlink(missing_ok=True)
    MlflowClient(f"sqlite:///{partial}").search_experiments(max_results=1)
    if not database.exists():  # `mlflow ui` may have made it meanwhile
        partial.replace(database)


def _experiment(client: "MlflowClient", database: Path | None) -> str:
    """The experiment's id. A server chooses where artefacts go; a SQLite store has them beside it."""
    from mlflow.entities import LifecycleStage
    from mlflow.exceptions import MlflowException

    found = client.get_experiment_by_name(EXPERIMENT)
    if found is None:
        location = (database.parent / "mlartifacts").as_uri() if database else None
        try:
            return client.create_experiment(EXPERIMENT, artifact_location=location)
        except MlflowException as error:  # another client of the same server was first
            if error.error_code != "RESOURCE_ALREADY_EXISTS":
                raise
            found = client.get_experiment_by_name(EXPERIMENT)
    if found.lifecycle_stage != LifecycleStage.ACTIVE:
        raise MlflowException(
            f"experiment {EXPERIMENT!r} was deleted there; bring it back with "
            f"`mlflow experiments restore --experiment-id {found.experiment_id}`"
        )
    return found.experiment_id


def _without_password(text: str) -> str:
    return re.sub(r"//[^/\s@]*@", "//***@", text)
