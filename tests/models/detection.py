"""A DETR that PyTorch's quantisers can take: transformers' own cannot be quantised with PT2E."""

import torch
import torchvision.models
from torch import nn


class Detr(nn.Module):
    """ResNet-50 features, a transformer over their pixels, two heads."""

    def __init__(self, width=128, queries=50, classes=92):
        super().__init__()
        backbone = torchvision.models.resnet50(weights=None)
        self.features = nn.Sequential(*list(backbone.children())[:-2])
        self.project = nn.Conv2d(2048, width, 1)
        self.transformer = nn.Transformer(
            width, 4, 2, 2, 4 * width, dropout=0.0, batch_first=True
        )
        self.position = nn.Parameter(torch.randn(1, 49, width))
        self.queries = nn.Parameter(torch.randn(1, queries, width))
        self.classes, self.boxes = nn.Linear(width, classes), nn.Linear(width, 4)

    def forward(self, x):
        x = self.project(self.features(x)).flatten(2).permute(0, 2, 1)
        y = self.transformer(x + self.position, self.queries)
        return self.classes(y), self.boxes(y).sigmoid()
