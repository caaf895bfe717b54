import time

import reportgen
import torch

from tiny import Model, loader, loss_of, say

model, n = Model(), 0
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for _ in range(3):
    for batch in loader():
        with reportgen.annotate("my range"):
            loss_of(model, batch).backward()
        time.sleep(0.002)
        optimizer.step()
        optimizer.zero_grad()
        n += 1
say(TRAIN=n)
