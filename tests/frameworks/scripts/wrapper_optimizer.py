"""An optimizer that contains optimizers, as ZeRO does; and one torch optimizer of that kind."""

import torch

from tiny import Model, loader, loss_of, say


class Sharded(torch.optim.Optimizer):
    def __init__(self, parameters):
        parameters = list(parameters)
        super().__init__(parameters, {})
        self.shards = [torch.optim.SGD([one], lr=1e-3) for one in parameters]

    def step(self, closure=None):
        for shard in self.shards:
            shard.step()


model, n = Model(), 0
optimizer = Sharded(model.parameters())
for _ in range(2):
    for batch in loader():
        loss_of(model, batch).backward()
        optimizer.step()
        optimizer.zero_grad()
        n += 1
say(TRAIN=n)
