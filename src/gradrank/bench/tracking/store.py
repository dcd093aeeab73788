"""Open an MLflow store.

A SQLite store is created if it does not exist, and only one gradrank process at a time can use it. Failures of the
store are reported as GradrankError.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote  # Path.as_uri does not escape quotes, which MLflow inserts into SQL

from gradrank.base.errors import GradrankError, require
from gradrank.base.files import locked, remove_abandoned, temporary_folder

if TYPE_CHECKING:
    from mlflow import MlflowClient

PACKAGES = ("mlflow", "pandas", "sqlalchemy")  # installed by the extra `track`
DEFAULT_URI, EXPERIMENT = "sqlite:///mlflow.db", "gradrank"
# defaults of environment variables; without the last two, MLflow needs 4 minutes to report that a server is down
SETTINGS = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_LOGGING_LEVEL": "ERROR",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "20",
}


@contextmanager
def open_store(uri: str | None = None, create: bool = True) -> Iterator[tuple["MlflowClient", str]]:
    """Yield a client and the id of the experiment `gradrank`, which is created if it is missing.

    uri: address of the store. By default, it is MLFLOW_TRACKING_URI or, if that is not set, sqlite:///mlflow.db. The
    artifacts of a SQLite store are in mlartifacts/ next to its file. create: if False, a missing SQLite file is an
    error. Raises GradrankError if the store fails within the block.
    """
    uri = uri or os.environ.get("MLFLOW_TRACKING_URI") or DEFAULT_URI
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    require(*PACKAGES, extra="track", needed_by=f"MLflow at {uri}")
    from mlflow import MlflowClient
    from mlflow.exceptions import MlflowException
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import SQLAlchemyError

    try:
        database = make_url(uri).database if uri.startswith("sqlite") else None
        path = Path(database).absolute() if database else None
        if path and "?" in str(path):
            raise GradrankError(
                f"MLflow at {uri}: {path.parent}: a SQLite address cannot contain `?`. Fix: rename the folder, "
                "or set MLFLOW_TRACKING_URI to another store"
            )
        if path and not create and not path.exists():
            raise FileNotFoundError(f"no file {path}")
        with locked(path.with_name(f"{path.name}.lock")) if path else nullcontext():
            if path and not path.exists():
                create_tables(path)
            # MLflow caches stores by URI. With a relative path, it would use the old store in a new folder.
            client = MlflowClient(f"sqlite:///{path}" if path else uri)
            yield client, _experiment(client, path)
    except (MlflowException, SQLAlchemyError, OSError) as error:
        text = re.sub(r"//[^/\s@]*@", "//***@", f"MLflow at {uri}: {error}"[:600])  # hides a password
        raise GradrankError(
            f"{text}\nFix: start the server, or set MLFLOW_TRACKING_URI to another store "
            f"(default: {DEFAULT_URI}); then repeat the same command."
        ) from error


def create_tables(database: Path) -> None:
    """Create a database with MLflow's tables in a temporary folder, and move it.

    MLflow cannot open a database that has only some of its tables.
    """
    from mlflow import MlflowClient

    remove_abandoned(database.parent, database.name)
    with temporary_folder(database) as folder:
        partial = folder / database.name
        MlflowClient(f"sqlite:///{partial}").search_experiments(max_results=1)
        partial.replace(database)


def _experiment(client: "MlflowClient", database: Path | None) -> str:
    """Return the id of the experiment, which is created if it is missing.

    MLflow stores the absolute location of the artifacts, and logged models do not load after the folder was moved. If a
    SQLite store was moved or copied, its experiment gets another name, and a new one is created with the present
    location.

    database: path of a SQLite store. If None, the server chooses the location of the artifacts.
    """
    from mlflow.exceptions import MlflowException

    location = "file://" + quote(str(database.parent / "mlartifacts")) if database else None
    if experiment := client.get_experiment_by_name(EXPERIMENT):
        found = experiment.artifact_location
        if location is None or found == location:
            return experiment.experiment_id
        client.rename_experiment(experiment.experiment_id, f"{EXPERIMENT} {experiment.experiment_id}, files in {found}")
    try:
        return client.create_experiment(EXPERIMENT, artifact_location=location)
    except MlflowException:  # another process has created it in the meantime
        if experiment := client.get_experiment_by_name(EXPERIMENT):
            return experiment.experiment_id
        raise
