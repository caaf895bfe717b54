"""The program's own word counts, although an optimizer steps twice in each step."""

import reportgen
import torch

from tiny import Model, loader, loss_of, say

model, n = Model(), 0
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for batch in loader():
    for _ in range(2):
        loss_of(model, batch).backward()
        optimizer.step()
        optimizer.zero_grad()
    reportgen.step()
    n += 1
for batch in reportgen.steps(loader()):
    loss_of(model, batch).backward()
    optimizer.step()
    n += 1
    if n == 20:
        break
say(TRAIN=n)
