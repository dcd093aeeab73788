"""The format `onnx`: every model that has a scoring form, with its preprocessing, for ONNX Runtime.

The input `features` is a float32 matrix with one row per document, and the output `scores` a float64 matrix with one
column. The value of a feature with categories is the place of its level, from 0, in the list of levels in the metadata
`levels`, or NaN for any other level. If the score depends on the other documents of the query, one run takes all
documents of one query.
"""

import json
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import numpy as np

from gradrank.base.errors import GradrankError, require
from gradrank.export.format import ExportedModel, ModelFormat, Reader, is_computed_in_float32
from gradrank.training.scoring_form import ScoringForm

SUMS = 1e-5  # tolerance of other models; XGBoost adds the trees in float32


class OnnxFormat(ModelFormat):
    name = "onnx"
    summary = "any model with a scoring form, with its preprocessing, for ONNX Runtime"
    tolerance: ClassVar[float] = 1e-4
    extension = ".onnx"
    expresses_steps: ClassVar[bool] = True

    def tolerance_of(self, form: ScoringForm) -> float:
        return self.tolerance if is_computed_in_float32(form) else SUMS

    def write(self, model: ExportedModel, out: Path) -> list[Path]:
        require("onnx", extra="onnx", needed_by="the format onnx")
        from gradrank.export.onnx_graph import INPUT, Graph, normalised, outputs, prepared, scores_whole_queries

        by_query = model.normaliser is not None and model.normaliser.method == "query"
        rows = "documents_of_one_query" if by_query or scores_whole_queries(model.form) else "documents"
        graph = Graph()
        features = prepared(graph, INPUT, model.steps)
        scores = outputs(graph, normalised(graph, features, model.normaliser), model.form)
        names = json.dumps(model.names, ensure_ascii=False)
        description = "Scores of documents for one query each. A higher score means a better rank in the query."
        metadata = {"feature_names": names, "rows": rows}
        metadata |= {"levels": json.dumps(model.levels, ensure_ascii=False)} if model.levels else {}
        metadata |= {"data_sha256": model.data_sha256} if model.data_sha256 else {}
        content = graph.model(len(model.names), rows, scores, description, metadata)
        out.write_bytes(content)
        return [out]

    def read(self, path: Path) -> Reader:
        require("onnxruntime", extra="onnx", needed_by=path)
        return OnnxReader(path)


class OnnxReader(Reader):
    """A session of ONNX Runtime on one processor."""

    def __init__(self, path: Path) -> None:
        import onnxruntime  # pyright: ignore[reportMissingImports] - an extra

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        try:
            self._session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
            metadata = self._session.get_modelmeta().custom_metadata_map
            self._names = tuple(json.loads(metadata["feature_names"]))
            self._by_query = metadata["rows"] == "documents_of_one_query"
        except Exception as error:  # ONNX Runtime documents no common type of errors
            raise GradrankError(f"{path}: not a model that gradrank exported ({error!r}). Fix: export again") from error

    @property
    def names(self) -> tuple[str, ...]:
        return self._names

    def scores(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        parts = pairwise(offsets) if self._by_query else [(0, len(features))]
        runs = [self._session.run(["scores"], {"features": features[start:stop]}) for start, stop in parts]
        return np.concatenate([np.asarray(scores)[:, 0] for (scores,) in runs])
