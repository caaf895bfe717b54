"""A compiled optimizer step, one that the user compiled whole, and a module compiled in place."""

import torch

from tiny import Model, loader, loss_of, say


class Simple(torch.optim.Optimizer):
    def __init__(self, parameters):
        super().__init__(list(parameters), {})

    def step(self, closure=None):
        with torch.no_grad():
            for group in self.param_groups:
                for one in group["params"]:
                    one.add_(one.grad, alpha=-1e-3)


def run(optimizer_of, fullgraph):
    torch._dynamo.reset()
    model = Model()
    model.compile(backend="aot_eager", fullgraph=True)
    optimizer = optimizer_of(model.parameters())

    @torch.compile(backend="aot_eager", fullgraph=fullgraph)
    def step():
        optimizer.step()

    for batch in loader():
        loss_of(model, batch).backward()
        step()
        model.zero_grad(set_to_none=False)


run(lambda parameters: torch.optim.SGD(parameters, lr=1e-3), fullgraph=False)
run(Simple, fullgraph=True)
say(TRAIN=24)
