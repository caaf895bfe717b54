import torch

from tiny import Model, loader, loss_of, say

model, n, n_eval = Model(), 0, 0
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for epoch in range(3):
    model.train()
    for index, batch in enumerate(loader(num_workers=2 if epoch else 0)):
        loss_of(model, batch).backward()
        optimizer.step()
        optimizer.zero_grad()
        n += 1
        if index == 5:
            model.eval()
            with torch.no_grad():
                for held_out in loader():
                    loss_of(model, held_out)
                    n_eval += 1
            model.train()
say(TRAIN=n, EVAL=n_eval)
