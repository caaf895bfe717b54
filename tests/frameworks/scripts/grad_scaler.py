"""Every fourth step overflows and is skipped by the scaler; the iteration is a step."""

import torch

from tiny import Model, loader, loss_of, say

model, n = Model(), 0
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("cpu")
for index, batch in enumerate(loader()):
    loss = loss_of(model, batch) * (float("inf") if index % 4 == 1 else 1.0)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
    n += 1
say(TRAIN=n)
