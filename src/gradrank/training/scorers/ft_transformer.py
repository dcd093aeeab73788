"""FT-Transformer: attention over the features of a document. The score depends only on this document.

Each feature becomes a token x_j w_j + b_j. A learned token is the first one. A block computes x + attention(norm(x))
and then x + feed_forward(norm(x)), where the feed-forward layer has the activation ReGLU. The first block has no norm
before its attention. The output is a linear map of relu(norm(first token)) after the last block, which therefore
computes this token alone.

With an embedding of features (Gorishniy et al. 2022), the tokens are the embeddings, mapped to the width of the blocks.

The defaults of the model `ft_transformer` are those of the authors' package `rtdl_revisiting_models`. Tokens, norms and
biases have no weight decay. It differs from the paper in the inputs: the paper transforms each feature to a normal
distribution by its quantiles, and here features are standardised.

Source: Gorishniy et al. 2021, Revisiting deep learning models for tabular data.
"""

import numpy as np
import torch

from gradrank.training.nets.embeddings import LinearPerFeature, create_embedding
from gradrank.training.nets.layers import affine, array, product, uniform
from gradrank.training.nets.net_params import ScorerParams
from gradrank.training.nets.scorer import Inputs, Scorer, TrainingNoise, adamw
from gradrank.training.nets.step_net import StepNet
from gradrank.training.nets.steps import (
    Activation,
    Attention,
    First,
    LayerNorm,
    Linear,
    Prepend,
    Scale,
    Shift,
    Steps,
    Sum,
)


def uniform_layer(inputs: int, outputs: int, generator: torch.Generator, has_zero_biases: bool) -> torch.nn.Linear:
    """Return a linear layer whose weights and biases are uniform in +-1 / sqrt(inputs), as those of torch.nn.Linear."""
    layer = torch.nn.Linear(inputs, outputs, device="meta").to_empty(device="cpu")  # draws no initial weights
    layer.weight = uniform((outputs, inputs), inputs**-0.5, generator)
    layer.bias = torch.nn.Parameter(torch.zeros(outputs))
    if not has_zero_biases:
        layer.bias = uniform((outputs,), inputs**-0.5, generator)
    return layer


class FeatureTokens(torch.nn.Module):
    """Maps (n, d) features to (n, 1 + d, width) tokens, the first of which is learned."""

    def __init__(self, inputs: Inputs, params: ScorerParams, generator: torch.Generator) -> None:
        super().__init__()
        features, width = inputs.features.shape[1], params.width
        self.first_token = uniform((width,), width**-0.5, generator)
        self.embedding = create_embedding(inputs, params, generator)
        if self.embedding is None:
            self.weight = uniform((features, width), width**-0.5, generator)
            self.bias = uniform((features, width), width**-0.5, generator)
        else:
            self.linear = LinearPerFeature(features, self.embedding.width, width, generator)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self._feature_tokens(x)
        return torch.cat([self.first_token.expand(len(x), 1, -1), x], dim=1)

    def _feature_tokens(self, x: torch.Tensor) -> torch.Tensor:
        if self.embedding is None:
            return x[:, :, None] * self.weight + self.bias
        return self.linear(self.embedding(x))

    def steps(self) -> Steps:
        first = Prepend(array(self.first_token))
        if self.embedding is None:
            return Scale(array(self.weight)), Shift(array(self.bias)), first
        return *self.embedding.steps(), *self.linear.steps(), first


class FeatureBlock(torch.nn.Module):
    """One block on (n, tokens, width) tokens. Only the first token is computed if `is_last` is True."""

    def __init__(
        self,
        params: ScorerParams,
        generator: torch.Generator,
        noise: tuple[TrainingNoise, TrainingNoise],
        is_first: bool,
        is_last: bool,
    ) -> None:
        super().__init__()
        width, inner = params.width, params.feed_forward
        self.norm_before = None if is_first else torch.nn.LayerNorm(width)
        self.query, self.key, self.value, self.joined = (
            uniform_layer(width, width, generator, has_zero_biases=True) for _ in range(4)
        )
        self.norm_between = torch.nn.LayerNorm(width)
        self.inner = uniform_layer(width, 2 * inner, generator, has_zero_biases=False)
        self.outer = uniform_layer(inner, width, generator, has_zero_biases=False)
        self.heads, self.is_last = params.heads, is_last
        self.noise, self.attention_noise = noise

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        inner = x if self.norm_before is None else self.norm_before(x)
        if self.is_last:
            x = x[:, :1]
        x = x + self._attend(inner)
        left, right = affine(self.norm_between(x), self.inner).chunk(2, dim=-1)
        return x + affine(self.noise.drop(left * torch.relu(right)), self.outer)

    def _attend(self, x: torch.Tensor) -> torch.Tensor:
        query = affine(x[:, :1] if self.is_last else x, self.query)
        arguments = query, *affine(x, self.key, self.value).chunk(2, dim=-1)
        query, key, value = (each.unflatten(2, (self.heads, -1)).transpose(1, 2) for each in arguments)
        attention = torch.softmax(product(query / query.shape[-1] ** 0.5, key.transpose(2, 3)), dim=-1)
        joined = product(self.attention_noise.drop(attention), value)
        return affine(joined.transpose(1, 2).flatten(2), self.joined)

    def steps(self) -> Steps:
        before: Steps = () if self.norm_before is None else (norm_step(self.norm_before),)
        first: Steps = (First(),) if self.is_last else ()
        query = (*first, *layer_steps(self.query))
        attention = Attention(query, layer_steps(self.key), layer_steps(self.value), self.heads)
        feed_forward = *layer_steps(self.inner), Activation("reglu"), *layer_steps(self.outer)
        return (
            Sum(first, (*before, attention, *layer_steps(self.joined))),
            Sum((), (norm_step(self.norm_between), *feed_forward)),
        )


def layer_steps(layer: torch.nn.Linear) -> Steps:
    """Return a linear layer as steps."""
    return Linear(array(layer.weight).T.copy()), Shift(array(layer.bias)[None, :])


def norm_step(norm: torch.nn.LayerNorm) -> LayerNorm:
    """Return a layer norm as a step."""
    return LayerNorm(array(norm.weight), array(norm.bias))


class FTTransformerScorer(Scorer):
    """Tokens of the features, blocks, and an output layer on the first token."""

    def __init__(self, inputs: Inputs, params: ScorerParams, outputs: int, seed: int) -> None:
        self.inputs, self.noise = inputs, TrainingNoise(params.dropout, params.noise, seed)
        rate = params.dropout if params.attention_dropout is None else params.attention_dropout
        noise = self.noise, TrainingNoise(rate, 0.0, seed + 1)
        generator = torch.Generator().manual_seed(seed)
        self.tokens = FeatureTokens(inputs, params, generator)
        last = params.blocks - 1
        self.blocks = [FeatureBlock(params, generator, noise, i == 0, i == last) for i in range(params.blocks)]
        self.norm = torch.nn.LayerNorm(params.width)
        self.output = uniform_layer(params.width, outputs, generator, has_zero_biases=False)
        parts = [self.tokens, torch.nn.ModuleList(self.blocks), self.norm, self.output]
        self.layers = torch.nn.ModuleList(parts).to(inputs.device)

    def outputs(self, rows: np.ndarray, offsets: np.ndarray | None = None) -> torch.Tensor:
        x = self.tokens(self.noise.add_noise(self.inputs.of_rows(rows)))
        for block in self.blocks:
            x = block(x)
        return affine(torch.relu(self.norm(x[:, 0])), self.output)

    def optimiser(self, params: ScorerParams) -> torch.optim.AdamW:
        norms = [part for part in self.layers.modules() if isinstance(part, torch.nn.LayerNorm)]
        free = {each for part in (self.tokens, *norms) for each in part.parameters()}
        free |= {each for name, each in self.layers.named_parameters() if name.endswith(".bias")}
        groups = [
            {"params": [each for each in self.layers.parameters() if each not in free]},
            {"params": [each for each in self.layers.parameters() if each in free], "weight_decay": 0.0},
        ]
        return adamw(groups, params)

    def export(self) -> StepNet:
        inputs = self.inputs
        blocks = [step for block in self.blocks for step in block.steps()]
        head = norm_step(self.norm), Activation("relu"), *layer_steps(self.output)
        steps = *inputs.steps, *self.tokens.steps(), *blocks, *head
        return StepNet(steps, inputs.mean, inputs.scale, inputs.log_limit)


def ft_transformer(inputs: Inputs, params: ScorerParams, outputs: int, seed: int) -> Scorer:
    """Create an FT-Transformer scorer with `params.blocks` blocks.

    outputs: number of outputs per document. seed: seed of the weights, dropout and noise.
    """
    return FTTransformerScorer(inputs, params, outputs, seed)
