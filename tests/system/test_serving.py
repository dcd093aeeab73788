"""The commands of docs/export.md: table of methods, service with ONNX Runtime, MLflow's server. Half a minute."""

import json
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import gradrank

gradrank.pin()  # before numpy

# isort: split
import numpy as np
import pytest

from export_table import PAGE, table, table_of_page
from gradrank.bench.tracking.runs import track
from gradrank.training.registry import missing_packages, models
from made_tracked import FEATURES, PARAMS, all_models, make_results

SECONDS = 600  # limit for the start of a server
NAMES = [f"f{number}" for number in range(1, FEATURES + 1)]


@pytest.fixture
def serve(tmp_path):
    """Return a function that starts a server with a free port as the last argument, and returns its address."""
    processes = []

    def start(*command: str, path: str, **variables: str) -> str:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        log = (tmp_path / "server.log").open("wb")
        search = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        environment = os.environ | {"PATH": search} | variables
        arguments = [sys.executable, "-m", *command, str(port)]
        # The server is a child of the command, so both are in a session that ends at the end of the test.
        processes.append(
            subprocess.Popen(arguments, cwd=tmp_path, env=environment, stdout=log, stderr=log, start_new_session=True)
        )
        address = f"http://127.0.0.1:{port}"
        for _ in range(SECONDS):
            try:
                urlopen(f"{address}{path}", timeout=10).close()
                return address
            except URLError:
                assert processes[-1].poll() is None, (tmp_path / "server.log").read_text()
                time.sleep(1.0)
        raise AssertionError((tmp_path / "server.log").read_text())

    yield start
    for process in processes:
        os.killpg(process.pid, 15)
        process.wait()


def post(address: str, value) -> object:
    request = Request(address, json.dumps(value).encode(), {"Content-Type": "application/json"})
    with urlopen(request, timeout=60) as answer:
        return json.load(answer)


def test_the_table_of_the_page_is_that_of_the_methods():
    missing = {package for cls in models().values() for package in missing_packages(cls)}
    if missing:
        pytest.skip(f"needs {', '.join(sorted(missing))}")
    assert table_of_page() == table(), "Fix: python tools/export_table.py"


def test_the_service_of_the_page_has_the_scores_of_predict(serve, tmp_path):
    for package in ("onnx", "onnxruntime", "fastapi", "uvicorn"):
        pytest.importorskip(package, reason=f"needs {package}")
    rng = np.random.default_rng(0)
    features, qid = rng.normal(size=(200, 2)).astype(np.float32), np.repeat(np.arange(20), 10)
    features[rng.random(features.shape) < 0.1] = np.nan
    grades = (np.nan_to_num(features[:, 0]) > 0.3).astype(int)
    ranker = gradrank.Ranker("lambdamart", random_state=1, rounds=20, min_data_in_leaf=5).fit(features, grades, qid=qid)
    ranker.export(tmp_path / "lambdamart.onnx", "onnx", check=(features, qid))
    (service,) = re.findall(r"```python\n(# service.py\n.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "service.py").write_text(service, encoding="utf-8")
    address = serve("uvicorn", "service:app", "--port", path="/docs")
    rows = [{"f1": float(a), "f2": None if np.isnan(b) else float(b)} for a, b in features if not np.isnan(a)]
    scores = post(f"{address}/scores", rows)
    expected = ranker.predict(features[~np.isnan(features[:, 0])])
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-9)
    assert post(f"{address}/scores", []) == []
    for wrong in ([{"f1": 0.5}], [{"f1": 0.5, "f2": "x"}], {"f1": 0.5, "f2": 1}):
        with pytest.raises(HTTPError, match="422"):
            post(f"{address}/scores", wrong)


def test_mlflow_serves_a_logged_fold(serve, tmp_path):
    pytest.importorskip("mlflow")
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    track(make_results(tmp_path / "results"), {"toy": ["single_feature"]}, PARAMS, uri=uri)
    model = next(model for model in all_models(uri) if model.name == "single_feature-fold2")
    command = ["mlflow", "models", "serve", "--model-uri", f"models:/{model.model_id}", "--env-manager", "local"]
    address = serve(*command, "--port", path="/ping", MLFLOW_TRACKING_URI=uri)
    data = np.random.default_rng(0).random((6, FEATURES)).astype(np.float32).tolist()
    for columns, rows in ((NAMES, data), (["qid", *NAMES], [[1 + i // 3, *row] for i, row in enumerate(data)])):
        answer = post(f"{address}/invocations", {"dataframe_split": {"columns": columns, "data": rows}})
        assert answer == {"predictions": [-row[1] for row in data]}
