import torch
import torch.distributed.optim

from tiny import Model, loader, loss_of, say

torch.distributed.init_process_group("gloo")
model, n = torch.nn.parallel.DistributedDataParallel(Model()), 0
optimizer = torch.distributed.optim.ZeroRedundancyOptimizer(
    model.parameters(), optimizer_class=torch.optim.Adam, lr=1e-3
)
for _ in range(2):
    for batch in loader():
        loss_of(model, batch).backward()
        optimizer.step()
        optimizer.zero_grad()
        n += 1
say(TRAIN=n)
# A model that outlives its group keeps its threads: one end in five aborts, also unrecorded.
del model, optimizer, batch
torch.distributed.destroy_process_group()
