"""A stream of compressed text, read by an iterable dataset."""

import gzip
import io
import json
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

from budget import Budget

budget = Budget()
LINES = [json.dumps({"x": [i % 17 / 17] * 16, "y": i % 2}) for i in range(2000)]
PACKED = gzip.compress("\n".join(LINES).encode())


class Stream(IterableDataset):
    def __iter__(self):
        while True:
            with gzip.open(io.BytesIO(PACKED), "rt") as lines:
                for line in lines:
                    if budget.fault == "slow":
                        time.sleep(0.002)
                    row = json.loads(line)
                    yield torch.tensor(row["x"]), torch.tensor(row["y"])


model = nn.Sequential(
    nn.Linear(16, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 2)
)
optimizer = torch.optim.Adam(model.parameters())
for x, y in DataLoader(Stream(), batch_size=32):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    for _ in range(4):  # a closure-like inner loop: several backward passes for a batch
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    if budget.step():
        break
budget.tell()
