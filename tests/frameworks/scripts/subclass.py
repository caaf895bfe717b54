"""Subclasses that call super().step(); an exception inside a step does not stop the count."""

import torch

from tiny import Model, loader, loss_of, say


class Mine(torch.optim.SGD):
    fails = False

    def step(self, closure=None):
        if self.fails:
            raise ValueError
        return super().step(closure)


class Deeper(Mine):
    def step(self, closure=None):
        return super().step(closure)


model, n = Model(), 0
torch.optim.SGD(model.parameters(), lr=1e-3)  # so that the base class is hooked as well
optimizer = Deeper(model.parameters(), lr=1e-3)
Mine(model.parameters(), lr=1e-3)
for index, batch in enumerate(loader()):
    loss_of(model, batch).backward()
    optimizer.fails = index == 5
    try:
        optimizer.step()
        n += 1
    except ValueError:
        pass
    optimizer.zero_grad()
say(TRAIN=n)
