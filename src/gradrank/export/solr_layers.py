"""Linear models and neural nets as layers of Solr's NeuralNetworkModel."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gradrank.data.normalisation import Normaliser
from gradrank.export.format import NotExpressible
from gradrank.export.writable_forms import as_float32, linear_of
from gradrank.training.scoring_form import Combined, NetForm, ScoringForm

if TYPE_CHECKING:
    from gradrank.training.nets.net import Net


@dataclass(frozen=True)
class Layer:
    """The layer x -> activation(matrix x + bias). matrix: (outputs, inputs) float64. bias: (outputs,) float64."""

    matrix: np.ndarray
    bias: np.ndarray
    activation: str = "identity"


@dataclass(frozen=True)
class Layers:
    """Layers on the inputs (x - mean) / scale, for (d,) features x before the normalisation of the data set.

    Inputs without a standardisation have the mean 0 and the scale 1.
    """

    layers: list[Layer]
    mean: np.ndarray
    scale: np.ndarray

    @staticmethod
    def of(form: ScoringForm, normaliser: Normaliser | None) -> "Layers":
        """Build from a linear model or a net. Raises NotExpressible."""
        parts = form.forms if isinstance(form, Combined) and form.rule in ("sum", "logistic") else (form,)
        if len(parts) == 1 and isinstance(parts[0], NetForm):
            net = parts[0].net
            layers, mean, scale = _net_layers(net), net.mean.astype(np.float64), net.scale.astype(np.float64)
        else:
            linear = [linear_of(part) for part in parts]
            if any(part is None for part in linear):
                raise NotExpressible("Solr has sums of trees, linear models and one neural net only")
            known = [part for part in linear if part is not None]
            layers = [Layer(np.array([part.weights for part in known]), np.array([part.intercept for part in known]))]
            mean, scale = np.zeros(len(known[0].weights)), np.ones(len(known[0].weights))
        layers = _combined(layers, form)
        return Layers(layers, mean, scale).without_normaliser(normaliser)

    def without_normaliser(self, normaliser: Normaliser | None) -> "Layers":
        """Return the layers on features before the normalisation. Their means and scales are float32 numbers.

        The first layer makes up for the rounding of the means.
        """
        mean, scale, first = self.mean, self.scale, self.layers[0]
        matrix, bias = first.matrix, first.bias
        if normaliser is not None:
            assert normaliser.mean is not None and normaliser.deviation is not None
            constant = normaliser.deviation == 0.0  # such a feature is 0 after the normalisation
            bias = bias + matrix @ np.where(constant, -mean / scale, 0.0)
            matrix = np.where(constant, 0.0, matrix)
            mean, scale = normaliser.mean + normaliser.deviation * mean, normaliser.deviation * scale
            mean, scale = np.where(constant, 0.0, mean), np.where(constant, 1.0, scale)
        rounded_mean = as_float32(mean, "the mean of a feature").astype(np.float64)
        rounded_scale = as_float32(scale, "the standard deviation of a feature").astype(np.float64)
        if not (rounded_scale > 0.0).all():
            raise NotExpressible("the standard deviation of a feature is too small for float32")
        bias = bias + matrix @ ((rounded_mean - mean) / scale)
        layers = [Layer(matrix, bias, first.activation), *self.layers[1:]]
        return Layers(layers, rounded_mean, rounded_scale)


def _net_layers(net: "Net") -> list[Layer]:
    if net.log_limit is not None:
        raise NotExpressible("the net replaces its inputs by sign(x) ln(1 + |x|), and Solr has no such normalizer")
    if net.input_steps:
        raise NotExpressible("the net has an embedding of features or clipped inputs, and Solr's nets have none")
    if net.gains:
        raise NotExpressible("the net has layer norms, and Solr's nets have none")
    activations = [net.activation] * (len(net.weights) - 1) + ["identity"]
    arrays = zip(net.weights, net.biases, activations, strict=True)
    return [Layer(weights.T.astype(np.float64), bias.astype(np.float64), name) for weights, bias, name in arrays]


def _combined(layers: list[Layer], form: ScoringForm) -> list[Layer]:
    """Return layers with one output: the score of a `Combined` of the outputs, or the only output."""
    if not isinstance(form, Combined):
        return layers
    weights, last = np.asarray(form.weights, np.float64)[None, :], layers[-1]
    if form.rule == "logistic":
        return [*layers[:-1], Layer(last.matrix, last.bias, "sigmoid"), Layer(weights, np.zeros(1))]
    return [*layers[:-1], Layer(weights @ last.matrix, weights @ last.bias)]
