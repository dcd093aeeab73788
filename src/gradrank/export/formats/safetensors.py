"""The format `safetensors`: the arrays of a model, with a description of the computation as JSON.

docs/export.md lists the arrays of each kind of model.
"""

import json
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.export.format import ExportedModel, ModelFormat, NotExpressible, Reader, is_computed_in_float32
from gradrank.export.tensor_scores import normalised, outputs
from gradrank.training.scoring_form import (
    Combined,
    KernelForm,
    LinearForm,
    NetForm,
    QuadraticForm,
    ScoringForm,
    TreesForm,
)

METADATA = "model"  # the only metadata key, because safetensors writes several keys in a random order
NORMALISER, FORMS = "normaliser.", "forms."  # prefixes of array names
STATISTICS = {None: (), "query": (), "global": ("mean", "deviation")}
SUMS = 1e-5  # tolerance of models without nets and kernels

Arrays = dict[str, np.ndarray]


class SafetensorsFormat(ModelFormat):
    name = "safetensors"
    summary = "the arrays of a linear, quadratic, kernel or neural model, with a description of the computation"
    tolerance: ClassVar[float] = 1e-4
    extension = ".safetensors"

    def tolerance_of(self, form: ScoringForm) -> float:
        return self.tolerance if is_computed_in_float32(form) else SUMS

    def write(self, model: ExportedModel, out: Path) -> list[Path]:
        from safetensors.numpy import save

        arrays, description = stored(model.form, "")
        content: dict[str, Any] = {"names": list(model.names), "normaliser": None, "form": description}
        if model.normaliser is not None:
            content["normaliser"] = model.normaliser.method
            statistics = {"mean": model.normaliser.mean, "deviation": model.normaliser.deviation}
            arrays |= {NORMALISER + name: array for name, array in statistics.items() if array is not None}
        contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        out.write_bytes(save(contiguous, metadata={METADATA: json.dumps(content, ensure_ascii=False)}))
        return [out]

    def read(self, path: Path) -> Reader:
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(path, framework="numpy") as file:
                content = json.loads((file.metadata() or {})[METADATA])
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            return SafetensorsReader(content, arrays)
        except (SafetensorError, ValueError, KeyError, TypeError) as error:
            raise GradrankError(f"{path}: not a model that gradrank exported ({error!r}). Fix: export again") from None


def stored(form: ScoringForm, prefix: str) -> tuple[Arrays, dict[str, Any]]:
    """Return the arrays of a form, with a prefix in their names, and the description of the form.

    Raises NotExpressible for trees.
    """
    arrays, description = _stored(form)
    arrays = {prefix + name: array for name, array in arrays.items()}
    if isinstance(form, Combined):
        parts = [stored(part, f"{prefix}{FORMS}{number}.") for number, part in enumerate(form.forms)]
        for part, _ in parts:
            arrays |= part
        description["forms"] = [part for _, part in parts]
    return arrays, description


def _stored(form: ScoringForm) -> tuple[Arrays, dict[str, Any]]:
    match form:
        case TreesForm():
            raise NotExpressible("the format has only arrays that are multiplied, and the model has trees")
        case LinearForm():
            return {"weights": form.weights}, {"kind": "linear", "intercept": form.intercept}
        case QuadraticForm():
            return {"weights": form.weights, "unit": form.unit}, {"kind": "quadratic"}
        case NetForm():
            arrays, steps = form.net.tensors()
            return arrays, {"kind": "net", "steps": steps}
        case KernelForm():
            arrays = {name: getattr(form, name) for name in ("landmarks", "coefficients", "mean", "scale")}
            kernel = {"kernel": form.kernel.name, "gamma": form.kernel.gamma, "degree": form.kernel.degree}
            return arrays, {"kind": "kernel"} | kernel
        case Combined():
            return {"weights": form.weights}, {"kind": "combined", "rule": form.rule}


class SafetensorsReader(Reader):
    """The computation that the description states, in float64."""

    def __init__(self, content: Mapping[str, Any], arrays: Arrays) -> None:
        self._names, self._form = tuple(content["names"]), content["form"]
        self._normaliser, self._arrays = content["normaliser"], arrays

    @property
    def names(self) -> tuple[str, ...]:
        return self._names

    def scores(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        out = np.empty(len(features))
        statistics = [self._arrays[NORMALISER + name] for name in STATISTICS[self._normaliser]]
        for start, stop in pairwise(offsets):
            query = normalised(features[start:stop], self._normaliser, *statistics)
            out[start:stop] = outputs(query, self._form, self._arrays)[:, 0]
        return out
