"""The commands of docs/export.md: table of methods, services under load, MLflow's server. A minute."""

import json
import os
import re
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from importlib.util import find_spec
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import gradrank

gradrank.pin()  # before numpy

# isort: split
import numpy as np
import polars as pl
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


def service_of_page(name: str) -> str:
    (service,) = re.findall(rf"```python\n(# {name}\n.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return service


@pytest.mark.parametrize("name", ["service.py", "onnx_service.py"])
def test_the_services_of_the_page_have_the_scores_of_predict(serve, tmp_path, name):
    for package in ("fastapi", "uvicorn", *(("onnx", "onnxruntime") if name == "onnx_service.py" else ())):
        pytest.importorskip(package, reason=f"needs {package}")
    rng = np.random.default_rng(0)
    features, qid = rng.normal(size=(200, 2)).astype(np.float32), np.repeat(np.arange(20), 10)
    features[rng.random(features.shape) < 0.1] = np.nan
    grades = (np.nan_to_num(features[:, 0]) > 0.3).astype(int)
    ranker = gradrank.Ranker("lambdamart", random_state=1, rounds=20, min_data_in_leaf=5).fit(features, grades, qid=qid)
    ranker.save(tmp_path / "model")
    if name == "onnx_service.py":
        ranker.export(tmp_path / "lambdamart.onnx", "onnx", check=(features, qid))
    (tmp_path / name).write_text(service_of_page(name), encoding="utf-8")
    address = serve("uvicorn", f"{Path(name).stem}:app", "--port", path="/docs")
    rows = [{"f1": float(a), "f2": None if np.isnan(b) else float(b)} for a, b in features if not np.isnan(a)]
    scores = post(f"{address}/scores", rows)
    expected = ranker.predict(features[~np.isnan(features[:, 0])])
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-9)
    assert post(f"{address}/scores", []) == []
    for wrong in ([{"f1": 0.5}], [{"f1": 0.5, "f2": "x"}], {"f1": 0.5, "f2": 1}):
        with pytest.raises(HTTPError, match="422"):
            post(f"{address}/scores", wrong)


CLIENTS, REQUESTS, DOCUMENTS, WIDTH = 8, 200, 100, 46


def test_the_services_of_the_page_answer_under_load(serve, tmp_path, capsys):
    for package in ("fastapi", "uvicorn"):
        pytest.importorskip(package, reason=f"needs {package}")
    rng = np.random.default_rng(0)
    features = rng.normal(size=(40 * DOCUMENTS, WIDTH)).astype(np.float32)
    grades = np.clip(np.round(features[:, 0] + rng.normal(size=len(features)) + 1), 0, 4).astype(int)
    ranker = gradrank.Ranker("lambdamart", random_state=1, rounds=100, patience=100)
    ranker.fit(features, grades, qid=np.repeat(np.arange(40), DOCUMENTS)).save(tmp_path / "model")
    names = [f"f{number}" for number in range(1, WIDTH + 1)]
    queries = np.split(features, 40)
    bodies = [json.dumps([dict(zip(names, row, strict=True)) for row in query.tolist()]).encode() for query in queries]
    expected = [ranker.predict(query).tolist() for query in queries]
    services = ["service.py"]
    if find_spec("onnx") and find_spec("onnxruntime"):
        ranker.export(tmp_path / "lambdamart.onnx", "onnx")
        services.append("onnx_service.py")
    for name in services:
        (tmp_path / name).write_text(service_of_page(name), encoding="utf-8")
        address = serve("uvicorn", f"{Path(name).stem}:app", "--log-level", "warning", "--port", path="/docs")

        def client(number: int, host: str = address.removeprefix("http://"), name: str = name) -> list[float]:
            connection, latencies = HTTPConnection(host, timeout=60), []
            for request in range(REQUESTS):
                query = (number * 5 + request) % len(queries)
                started = time.perf_counter()
                connection.request("POST", "/scores", bodies[query], {"Content-Type": "application/json"})
                answer = json.load(connection.getresponse())
                latencies.append(time.perf_counter() - started)
                if name == "service.py":
                    assert answer == expected[query]
                else:
                    np.testing.assert_allclose(answer, expected[query], rtol=0, atol=1e-9)
            return latencies

        for clients in (1, CLIENTS):
            with ThreadPoolExecutor(clients) as pool:
                latencies = [1e3 * each for found in pool.map(client, range(clients)) for each in found]
            shown = [f"p{share} {np.percentile(latencies, share):.2f} ms" for share in (50, 95, 99)]
            with capsys.disabled():
                print(f"\n{name}, {clients} clients: {', '.join(shown)}")


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


def test_mlflow_serves_a_registered_refit(serve, tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    from gradrank.integrations.mlflow import register_model

    uri, rng = f"sqlite:///{tmp_path}/mlflow.db", np.random.default_rng(0)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    mlflow.set_tracking_uri(uri)
    features, qid = rng.normal(size=(200, 2)), np.repeat(np.arange(20), 10)
    features[rng.random(features.shape) < 0.1] = np.nan
    brand = rng.integers(0, 3, 200)
    quality = np.nan_to_num(features[:, 0]) + 2 * (brand == 1) + rng.normal(size=200)
    grades = np.clip(np.round(quality), 0, 4).astype(int)
    levels = pl.Series("brand", np.array(["Acme", "Nord", "Zen"])[brand])
    table = pl.DataFrame(features, schema=["price", "match"]).with_columns(levels)
    ranker = gradrank.Ranker("lambdamart", random_state=1, rounds=20, min_data_in_leaf=5).refit(table, grades, qid=qid)
    ranker.save(tmp_path / "model")
    with mlflow.start_run(experiment_id=mlflow.create_experiment("shop", artifact_location=tmp_path.as_uri())):
        address = register_model(tmp_path / "model", "shop")
    assert address == "models:/shop/1"
    version = mlflow.MlflowClient().get_model_version("shop", "1")
    assert version.description == (tmp_path / "model/model_card.md").read_text()
    info = mlflow.models.get_model_info(address)
    assert info.signature.inputs.input_names() == ["qid", "price", "match", "brand"] and info.saved_input_example_info
    assert mlflow.models.Model.load(address).load_input_example()["brand"].tolist() == ["Acme", "Acme"]
    command = ["mlflow", "models", "serve", "--model-uri", address, "--env-manager", "local"]
    served = serve(*command, "--port", path="/ping", MLFLOW_TRACKING_URI=uri)
    rows = [[str(q), *row] for q, row in zip(qid, table.fill_nan(None).rows(), strict=True)]
    data = {"dataframe_split": {"columns": ["qid", "price", "match", "brand"], "data": rows}}
    assert post(f"{served}/invocations", data) == {"predictions": ranker.predict(table).tolist()}
