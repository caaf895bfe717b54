"""Modules whose outputs are dicts, that are checkpointed, or that gradients pass twice."""

import sys

import torch
from torch.utils.checkpoint import checkpoint

from tiny import Model, loader, say

KIND = sys.argv[1]


class Outer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Model()

    def forward(self, x):
        if KIND == "checkpoint":
            return checkpoint(self.inner, x, use_reentrant=False)
        return {"logits": [self.inner(x)]} if KIND == "dict" else self.inner(x)


model, n = Outer(), 0
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for x, y in loader():
    output = model(x)
    output = output["logits"][0] if KIND == "dict" else output
    loss = ((output - y) ** 2).mean()
    loss.backward(retain_graph=KIND == "twice")
    if KIND == "twice":
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    n += 1
say(TRAIN=n)
