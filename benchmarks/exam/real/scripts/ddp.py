"""Data-parallel training of two processes; started by torchrun."""

import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from budget import Budget, burn

budget = Budget()
dist.init_process_group("gloo")
rank = dist.get_rank()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 512), nn.ReLU()
        )
        self.head = nn.Linear(512, 10)

    def forward(self, x):
        if budget.fault == "rank" and rank == 1:
            burn(0.015)
        return self.head(self.layers(x))


model = DistributedDataParallel(Net())
data = TensorDataset(torch.randn(20000, 512), torch.randint(0, 10, (20000,)))
sampler = DistributedSampler(data)
loader = DataLoader(data, batch_size=64, sampler=sampler)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
stop, epoch = torch.zeros(1), 0
while not stop.item():
    sampler.set_epoch(epoch)
    epoch += 1
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if budget.fault == "log" and rank == 0:
            time.sleep(0.015)  # an experiment tracker answers
        is_over = budget.step()
        if budget.steps % 20 == 0:  # all ranks end together
            stop += float(is_over and rank == 0)
            dist.broadcast(stop, 0)
            if stop.item():
                break
if rank == 0:
    budget.tell()
del model, optimizer, loss  # a model that outlives its group makes some ends abort
dist.destroy_process_group()
