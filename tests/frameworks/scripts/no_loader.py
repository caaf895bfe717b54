import torch

from tiny import Model, loss_of, say

model, n = Model(), 0
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for _ in range(30):
    optimizer.zero_grad()
    loss_of(model, (torch.randn(4, 8), torch.randn(4, 1))).backward()
    optimizer.step()
    n += 1
say(TRAIN=n)
