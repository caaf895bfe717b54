import torch

from tiny import Model, loader, loss_of, say

model, n = Model(), 0
optimizers = {one: torch.optim.SGD([one], lr=1e-3) for one in model.parameters()}


def step(parameter):
    optimizers[parameter].step()
    optimizers[parameter].zero_grad()


for one in model.parameters():
    one.register_post_accumulate_grad_hook(step)
for _ in range(2):
    for batch in loader():
        loss_of(model, batch).backward()
        n += 1
for _ in range(10):  # without a loader too
    loss_of(model, (torch.randn(4, 8), torch.randn(4, 1))).backward()
    n += 1
say(TRAIN=n)
