"""Three trainings in one process, each slower than the one before."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from budget import Budget

budget = Budget()
budget.seconds /= 3
data = TensorDataset(torch.randn(200000, 128), torch.randn(200000, 1))
for width in (512, 1024, 2048):
    budget.began = None
    model = nn.Sequential(
        nn.Linear(128, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for x, y in DataLoader(data, batch_size=64):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
        if budget.step():
            break
budget.tell()
