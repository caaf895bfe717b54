import torch

from tiny import Model, loader, loss_of, say

model, n = torch.compile(Model(), backend="aot_eager", fullgraph=True), 0
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(2):
    for batch in loader():
        loss_of(model, batch).backward()
        optimizer.step()
        optimizer.zero_grad()
        n += 1
assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1, "nothing is compiled again"
say(TRAIN=n)
