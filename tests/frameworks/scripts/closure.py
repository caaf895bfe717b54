import torch

from tiny import Model, loader, loss_of, say

model, n = Model(), 0
optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4)
for batch in loader():

    def closure(batch=batch):
        optimizer.zero_grad()
        loss = loss_of(model, batch)
        loss.backward()
        return loss

    optimizer.step(closure)
    n += 1
say(TRAIN=n)
