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

from typing import Self

import torch

from gradrank.training.nets.embeddings import LinearPerFeature, create_embedding
from gradrank.training.nets.layers import (
    Activated,
    Add,
    Chain,
    Dropout,
    Layer,
    ListPadding,
    Norm,
    NumpyDense,
    TrainingNoise,
    affine,
    array,
    product,
    uniform,
)
from gradrank.training.nets.net_params import ScorerParams
from gradrank.training.nets.scorer import Inputs, Scorer, adamw
from gradrank.training.nets.steps import Attention, First, Linear, Prepend, Scale, Shift, Steps


class TokenDense(NumpyDense):
    """A dense layer on tokens, whose bias is added last in steps. Its numbers are uniform in +-1 / sqrt(inputs)."""

    @classmethod
    def drawn(cls, inputs: int, outputs: int, generator: torch.Generator, has_zero_biases: bool) -> Self:
        """Create a layer with random weights, as those of torch.nn.Linear."""
        weight = uniform((outputs, inputs), inputs**-0.5, generator)
        return cls(weight, None if has_zero_biases else uniform((outputs,), inputs**-0.5, generator))

    def steps(self) -> Steps:
        return Linear(array(self.weight).T.copy()), Shift(array(self.bias)[None, :])


class FeatureTokens(Layer):
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

    def forward(self, x: torch.Tensor, lists: ListPadding | None = None) -> torch.Tensor:
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


class FirstToken(Layer):
    """The first token."""

    def forward(self, x: torch.Tensor, lists: ListPadding | None = None) -> torch.Tensor:
        return x[:, :1]

    def steps(self) -> Steps:
        return (First(),)


class TokenAttention(Layer):
    """Attention within each document, from all tokens, or from those of the chain `asking`, to all tokens."""

    def __init__(self, params: ScorerParams, generator: torch.Generator, noise: TrainingNoise, asking: Chain) -> None:
        super().__init__()
        self.query, self.key, self.value = (
            TokenDense.drawn(params.width, params.width, generator, has_zero_biases=True) for _ in range(3)
        )
        self.heads, self.noise, self.asking = params.heads, noise, asking

    def forward(self, x: torch.Tensor, lists: ListPadding | None = None) -> torch.Tensor:
        arguments = self.query(self.asking(x)), *affine(x, self.key, self.value).chunk(2, dim=-1)
        query, key, value = (each.unflatten(2, (self.heads, -1)).transpose(1, 2) for each in arguments)
        attention = torch.softmax(product(query / query.shape[-1] ** 0.5, key.transpose(2, 3)), dim=-1)
        return product(self.noise.drop(attention), value).transpose(1, 2).flatten(2)

    def steps(self) -> Steps:
        query = *self.asking.steps(), *self.query.steps()
        return (Attention(query, self.key.steps(), self.value.steps(), self.heads),)


def feature_block(
    params: ScorerParams,
    generator: torch.Generator,
    noise: tuple[TrainingNoise, TrainingNoise],
    is_first: bool,
    is_last: bool,
) -> Chain:
    """Return one block on (n, tokens, width) tokens. Only the first token is computed if `is_last` is True.

    noise: the dropout of hidden units, and that of attention weights.
    """
    width, inner = params.width, params.feed_forward
    kept = Chain(FirstToken()) if is_last else Chain()
    attention = TokenAttention(params, generator, noise[1], kept)
    joined = TokenDense.drawn(width, width, generator, has_zero_biases=True)
    first, second = (
        TokenDense.drawn(*sizes, generator, has_zero_biases=False) for sizes in ((width, 2 * inner), (inner, width))
    )
    norms = [] if is_first else [Norm(width)]
    feed_forward = Chain(Norm(width), first, Activated("reglu"), Dropout(noise[0]), second)
    return Chain(Add(kept, Chain(*norms, attention, joined)), Add(Chain(), feed_forward))


class FTTransformerScorer(Scorer):
    """Tokens of the features, blocks, and an output layer on the first token, with their weight decay."""

    def __init__(self, inputs: Inputs, params: ScorerParams, outputs: int, seed: int) -> None:
        rate = params.dropout if params.attention_dropout is None else params.attention_dropout
        noise = TrainingNoise.of(params, seed), TrainingNoise(rate, 0.0, seed + 1)
        generator = torch.Generator().manual_seed(seed)
        self.tokens = FeatureTokens(inputs, params, generator)
        last = params.blocks - 1
        self.blocks = [feature_block(params, generator, noise, i == 0, i == last) for i in range(params.blocks)]
        output = TokenDense.drawn(params.width, outputs, generator, has_zero_biases=False)
        head = Norm(params.width), Activated("relu"), output
        super().__init__(inputs, Chain(self.tokens, *self.blocks, *head), noise[0])

    def optimiser(self, params: ScorerParams) -> torch.optim.AdamW:
        norms = [part for part in self.layers.modules() if isinstance(part, Norm)]
        free = {each for part in (self.tokens, *norms) for each in part.parameters()}
        free |= {each for name, each in self.layers.named_parameters() if name.endswith(".bias")}
        groups = [
            {"params": [each for each in self.layers.parameters() if each not in free]},
            {"params": [each for each in self.layers.parameters() if each in free], "weight_decay": 0.0},
        ]
        return adamw(groups, params)


def ft_transformer(inputs: Inputs, params: ScorerParams, outputs: int, seed: int) -> Scorer:
    """Create an FT-Transformer scorer with `params.blocks` blocks.

    outputs: number of outputs per document. seed: seed of the weights, dropout and noise.
    """
    return FTTransformerScorer(inputs, params, outputs, seed)
