"""The steps of a net that was exported as safetensors, computed by NumPy in float64 from their description alone."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Arrays = Mapping[str, np.ndarray]
EPSILON = 1e-5  # of layer norms


def rows_after_steps(
    x: np.ndarray, description: Sequence[Mapping[str, Any]], arrays: Arrays, prefix: str
) -> np.ndarray:
    """Return the (n, outputs) rows after the steps for (n, d) features, with the values of all tokens.

    description: the steps. arrays: the arrays of the file. prefix: the first part of the names of the steps' arrays.
    """
    return run(x[:, :, None], description, arrays, prefix).reshape(len(x), -1)


def run(x: np.ndarray, description: Sequence[Mapping[str, Any]], arrays: Arrays, prefix: str) -> np.ndarray:
    """Return the (n, tokens, width) result of the steps, one after another; see `rows_after_steps`."""
    for number, step in enumerate(description):
        x = _step(x, step, arrays, f"{prefix}{number}.")
    return x


def _step(x: np.ndarray, step: Mapping[str, Any], arrays: Arrays, prefix: str) -> np.ndarray:
    def own(name: str) -> np.ndarray:
        return arrays[prefix + name].astype(np.float64)

    def inner(name: str) -> np.ndarray:
        return run(x, step[name], arrays, f"{prefix}{name}.")

    match step["kind"]:
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
        case "Sum":
            return inner("first") + inner("second")
        case "Concat":
            return np.concatenate([inner("first"), inner("second")], axis=2)
        case kind:
            raise ValueError(f"unknown step {kind!r}")


def _activation(x: np.ndarray, name: str) -> np.ndarray:
    match name:
        case "relu":
            return np.maximum(x, 0.0)
        case "selu":
            negative = 1.6732632423543772 * np.expm1(np.minimum(x, 0.0))
            return 1.0507009873554805 * np.where(x > 0.0, x, negative)
        case "reglu":
            left, right = np.split(x, 2, axis=2)
            return left * np.maximum(right, 0.0)
        case _:
            raise ValueError(f"unknown activation {name!r}")


def _attention(query: np.ndarray, key: np.ndarray, value: np.ndarray, heads: int) -> np.ndarray:
    """Return the (n, queries, width) outputs of attention within each document."""
    q, k, v = (x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3) for x in (query, key, value))
    logits = q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[3])
    weights = np.exp(logits - logits.max(axis=3, keepdims=True))
    weights /= weights.sum(axis=3, keepdims=True)
    return (weights @ v).transpose(0, 2, 1, 3).reshape(query.shape)
