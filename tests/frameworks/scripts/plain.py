import torch

from tiny import Model, loader, loss_of, say

model, n = Model(), 0
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 5)
for _ in range(3):
    for batch in loader():
        loss_of(model, batch).backward()
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        n += 1
say(TRAIN=n)
