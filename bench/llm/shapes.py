"""The shapes of the language models that scripts/bench-llm compares, as they are published. The frequencies
of Llama 3.2's rotations are not scaled, which costs nothing where they are."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Shape:
    """A decoder: its embedding is also its head, and a layer has attention with a cache and an MLP."""

    name: str
    family: str  # llama or qwen3, which normalises queries and keys
    hidden: int
    layers: int
    heads: int
    cached_heads: int
    head: int
    mlp: int
    vocabulary: int
    theta: float
    epsilon: float

    @property
    def title(self):
        full = SHAPES[self.name].layers
        return self.name if self.layers == full else f"{self.name}, {self.layers} of {full} layers"

    @property
    def stem(self):
        """What the names of its files begin with."""
        return self.name if self.layers == SHAPES[self.name].layers else f"{self.name}-{self.layers}"

    @property
    def linear_weights(self):
        """The weights that each token is multiplied by."""
        queries, cached = self.heads * self.head, self.cached_heads * self.head
        layer = self.hidden * (2 * queries + 2 * cached + 3 * self.mlp)
        return self.layers * layer + self.hidden * self.vocabulary

    def cached_numbers(self, position):
        """The numbers of keys and values that a step at this position reads."""
        return 2 * self.layers * self.cached_heads * self.head * (position + 1)

    def with_layers(self, layers):
        return replace(self, layers=layers or self.layers)


SHAPES = {
    shape.name: shape
    for shape in (
        Shape("SmolLM2-135M", "llama", 576, 30, 9, 3, 64, 1536, 49152, 1e5, 1e-5),
        Shape("Qwen3-0.6B", "qwen3", 1024, 28, 16, 8, 128, 3072, 151936, 1e6, 1e-6),
        Shape("Llama-3.2-1B", "llama", 2048, 16, 32, 8, 64, 8192, 128256, 5e5, 1e-5),
    )
}
