"""Scores of a model that was exported as safetensors, computed by NumPy from the arrays and the description alone.

Inputs are rounded to float32 where gradrank rounds them. All other numbers are float64.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Arrays = Mapping[str, np.ndarray]
EPSILON = 1e-5  # of layer norms


def run(x: np.ndarray, description: Sequence[Mapping[str, Any]], arrays: Arrays, prefix: str) -> np.ndarray:
    """Return the (n, tokens, width) result of the steps for the (n, d, 1) inputs of one query.

    description: the steps. arrays: the arrays of the file. prefix: the first part of the names of the steps' arrays.
    """
    for number, step in enumerate(description):
        x = _step(x, step, arrays, f"{prefix}{number}.")
    return x


def _step(x: np.ndarray, step: Mapping[str, Any], arrays: Arrays, prefix: str) -> np.ndarray:
    def own(name: str) -> np.ndarray:
        return arrays[prefix + name].astype(np.float64)

    def inner(name: str) -> np.ndarray:
        return run(x, step[name], arrays, f"{prefix}{name}.")

    match step["kind"]:
        case "Affine":
            return x @ own("weights") + own("biases")
        case "Linear":
            weights = own("weights")
            return x @ weights if weights.ndim == 2 else np.einsum("ntw,twv->ntv", x, weights)
        case "Scale":
            return x * own("weights")
        case "Shift":
            return x + own("biases")
        case "Clip":
            return np.clip(x, own("low"), own("high"))
        case "SmoothClip":
            return x / np.sqrt(1.0 + np.square(x / step["limit"]))
        case "Cosine":
            return np.cos(2.0 * np.pi * x)
        case "Activation":
            return _activation(x, step["name"])
        case "LayerNorm":
            centred = x - x.mean(axis=2, keepdims=True)
            deviation = np.sqrt(np.square(centred).mean(axis=2, keepdims=True) + EPSILON)
            return centred / deviation * own("gains") + own("shifts")
        case "Prepend":
            return np.concatenate([np.broadcast_to(own("token"), (len(x), 1, x.shape[2])), x], axis=1)
        case "Flatten":
            return x.reshape(len(x), 1, -1)
        case "First":
            return x[:, :1]
        case "Attention":
            return _attention(inner("query"), inner("key"), inner("value"), step["heads"])
        case "DocumentAttention":
            query, key, value = (inner(name).transpose(1, 0, 2) for name in ("query", "key", "value"))
            return _attention(query, key, value, step["heads"]).transpose(1, 0, 2)
        case "Sum":
            return inner("first") + inner("second")
        case "Gate":
            values = inner("values")
            return values * inner("gates") + values
        case "Concat":
            return np.concatenate([inner("first"), inner("second")], axis=2)
        case kind:
            raise ValueError(f"unknown step {kind!r}")


def _activation(x: np.ndarray, name: str) -> np.ndarray:
    match name:
        case "relu":
            return np.maximum(x, 0.0)
        case "tanh":
            return np.tanh(x)
        case "selu":
            negative = 1.6732632423543772 * np.expm1(np.minimum(x, 0.0))
            return 1.0507009873554805 * np.where(x > 0.0, x, negative)
        case "reglu":
            left, right = np.split(x, 2, axis=2)
            return left * np.maximum(right, 0.0)
        case _:
            raise ValueError(f"unknown activation {name!r}")


def _attention(query: np.ndarray, key: np.ndarray, value: np.ndarray, heads: int) -> np.ndarray:
    """Return the (n, queries, width) outputs of attention within each of n groups of tokens."""
    q, k, v = (x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3) for x in (query, key, value))
    logits = q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[3])
    weights = np.exp(logits - logits.max(axis=3, keepdims=True))
    weights /= weights.sum(axis=3, keepdims=True)
    return (weights @ v).transpose(0, 2, 1, 3).reshape(query.shape)


LARGEST = 3.4028234663852886e38  # the largest float32


def normalised(query: np.ndarray, method: str | None, *statistics: np.ndarray) -> np.ndarray:
    """Return the (n, d) features of one query after the normalisation of the data set, as float32 numbers in float64.

    method: `global`, `query` or None. statistics: the (d,) means and deviations for `global`.
    """
    x = query.astype(np.float64)
    if method is None or not len(x):
        return x
    if method == "query":
        lowest, highest = np.fmin.reduce(x), np.fmax.reduce(x)
        statistics = lowest, highest - lowest
    mean, deviation = statistics
    varies = deviation > 0.0
    ratio = np.where(varies, (x - mean) / np.where(varies, deviation, 1.0), 0.0)
    return _single(np.clip(ratio, -LARGEST, LARGEST))


def outputs(x: np.ndarray, form: Mapping[str, Any], arrays: Arrays, prefix: str = "") -> np.ndarray:
    """Return the (n, K) float64 outputs of a form for the (n, d) normalised features of one query.

    form: the description. arrays: the arrays of the file. prefix: the first part of the names of the form's arrays.
    """
    own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
    match form["kind"]:
        case "linear":
            return (x * own["weights"]).sum(axis=1, keepdims=True) + form["intercept"]
        case "quadratic":
            z = np.hstack([np.ones((len(x), 1)), x * own["unit"]])
            if len(own["weights"]) == 1:
                return (z * own["weights"]).sum(axis=1, keepdims=True)
            return ((z @ own["weights"]) * z).sum(axis=1, keepdims=True)
        case "net":
            return run(_standardised(x, own)[:, :, None], form["steps"], own, "").reshape(len(x), -1)
        case "kernel":
            return _kernel(x, form, own)
        case "combined":
            parts = [outputs(x, part, own, f"forms.{number}.") for number, part in enumerate(form["forms"])]
            return _combined(np.hstack(parts), form["rule"], own["weights"])
        case kind:
            raise ValueError(f"unknown kind {kind!r}")


def _kernel(x: np.ndarray, form: Mapping[str, Any], own: Arrays) -> np.ndarray:
    x, landmarks = _standardised(x, own), own["landmarks"].astype(np.float64)
    if form["kernel"] == "rbf":
        squares = np.square(x).sum(axis=1, keepdims=True) + np.square(landmarks).sum(axis=1)
        values = np.exp(form["gamma"] * (2.0 * x @ landmarks.T - squares))
    else:
        values = (1.0 + form["gamma"] * x @ landmarks.T) ** form["degree"]
    return values @ own["coefficients"].reshape(-1, 1)


def _combined(outputs: np.ndarray, rule: str, weights: np.ndarray) -> np.ndarray:
    if rule == "argmax":
        return weights[outputs.argmax(axis=1)].reshape(-1, 1)
    if rule == "logistic":
        outputs = 1.0 / (1.0 + np.exp(-outputs))
    elif rule == "softmax":
        outputs = np.exp(outputs - outputs.max(axis=1, keepdims=True))
        outputs /= outputs.sum(axis=1, keepdims=True)
    return outputs @ weights.reshape(-1, 1)


def _standardised(x: np.ndarray, own: Arrays) -> np.ndarray:
    if "log_limit" in own:
        x = _single(np.clip(np.sign(x) * np.log1p(np.abs(x)), -own["log_limit"], own["log_limit"]))
    return _single((x - own["mean"]) / own["scale"])


def _single(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float32).astype(np.float64)
