"""A fine tuning that keeps its model in eval mode: what it does are training steps."""

import torch

from tiny import Model, loader, loss_of, say

model, n = Model().eval(), 0
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for batch in loader():
    loss_of(model, batch).backward()
    optimizer.step()
    optimizer.zero_grad()
    n += 1
say(TRAIN=n)
