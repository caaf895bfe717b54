"""A program that leaves without a farewell; at most one interval is lost."""

import os
import time

import torch

from tiny import Model, loader, loss_of, say

model, n = Model(), 0
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for batch in loader():
    loss_of(model, batch).backward()
    optimizer.step()
    optimizer.zero_grad()
    n += 1
next(iter(loader()))  # the last step is complete when the next batch is asked for
say(TRAIN=n)
time.sleep(2)
os._exit(7)
