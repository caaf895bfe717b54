"""Batches from a generator function, without any loader."""

import numpy as np
import torch
from torch import nn

from budget import Budget, burn

budget = Budget()
rng = np.random.default_rng(1)


def batches():
    while True:
        x = rng.standard_normal((64, 256), dtype="float32")
        if budget.fault == "slow":
            burn(0.02)
        yield torch.from_numpy(x), torch.from_numpy((x.sum(1) > 0).astype("int64"))


model = nn.Sequential(
    nn.Linear(256, 1024), nn.Tanh(), nn.Linear(1024, 1024), nn.Tanh(), nn.Linear(1024, 2)
)
optimizer = torch.optim.RMSprop(model.parameters())
for x, y in batches():
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    if budget.step():
        break
budget.tell()
