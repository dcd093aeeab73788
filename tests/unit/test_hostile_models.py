"""A model file that contains a pickle is refused, and its code is not executed."""

import os

import numpy as np
import pytest

from gradrank.base.errors import GradrankError
from gradrank.base.files import read_json, sha256, write_json
from gradrank.bench.folds.job import train
from gradrank.data.parse import parse
from gradrank.data.sources.synthetic import generate
from gradrank.training.trained_fold import TrainedFold


@pytest.mark.parametrize("model", ["single_feature", "ranknet_linear", "lambdamart"])
def test_a_pickle_in_place_of_a_model_is_refused(model, tmp_path):
    generate("net", 10, 5, 1, tmp_path / "text")
    parse(tmp_path / "text", tmp_path / "data", seed=1, dataset="mine")
    train(model, tmp_path / "data", 1, {}, 1, tmp_path / "fold1")
    spec = read_json(tmp_path / "fold1/spec.json")
    command = f"touch {tmp_path}/run".encode()
    pickled = b"\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c" + bytes([len(command)]) + command + b"\x85R."
    for path in (tmp_path / "fold1/model").iterdir():
        path.write_bytes(pickled)
        spec["files"][path.relative_to(tmp_path / "fold1").as_posix()] = sha256(path)
    write_json(tmp_path / "fold1/spec.json", spec)
    with pytest.raises(GradrankError, match="fold1"):
        TrainedFold.load(tmp_path / "fold1").score(np.ones((3, 50), np.float32), np.array([0, 3]))
    assert not (tmp_path / "run").exists()


def test_a_pipe_in_the_folder_of_a_model_is_refused_and_not_opened(tmp_path):
    generate("net", 10, 5, 1, tmp_path / "text")
    parse(tmp_path / "text", tmp_path / "data", seed=1, dataset="mine")
    train("single_feature", tmp_path / "data", 1, {}, 1, tmp_path / "fold1")
    (path,) = (tmp_path / "fold1/model").iterdir()
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(GradrankError, match="not a regular file"):
        TrainedFold.load(tmp_path / "fold1")
