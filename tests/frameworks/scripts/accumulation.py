import torch

from tiny import Model, loader, loss_of, say

model, n = Model(), 0
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for _ in range(2):
    for index, batch in enumerate(loader()):
        loss_of(model, batch).backward()
        if index % 4 == 3:
            optimizer.step()
            optimizer.zero_grad()
            n += 1
say(TRAIN=n)
