"""An image classifier in plain PyTorch, the way most tutorials write it."""

import json
import os
import random
import tempfile
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from budget import Budget, burn

budget = Budget()
fault = budget.fault
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Images(Dataset):
    def __init__(self, n):
        self.n = n
        self.images = torch.randn(64, 3, 32, 32)  # as decoded before

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        image = self.images[index % 64]
        if fault == "augment":
            burn(0.004)
        if fault == "read":
            time.sleep(0.005)
        return image, index % 10


model = nn.Sequential(
    nn.Conv2d(3, 32, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(32, 64, 3, padding=1),
    nn.ReLU(),
    nn.AdaptiveAvgPool2d(4),
    nn.Flatten(),
    nn.Linear(1024, 10),
).to(device)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
train_loader = DataLoader(Images(3200), batch_size=16, shuffle=True)
valid_loader = DataLoader(Images(640), batch_size=16)
folder = tempfile.mkdtemp()
history, is_over, epoch, global_step = [], False, 0, 0
while not is_over:
    model.train()
    running = 0.0
    for images, labels in train_loader:
        images, labels = images.to(device), labels.to(device)
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        running += loss.item()
        global_step += 1
        if fault == "log":
            burn(0.03)
            with open(os.path.join(folder, "log.json"), "w") as log:
                json.dump({n: p.flatten()[:100].tolist() for n, p in model.named_parameters()}, log)
        if fault == "checkpoint" and global_step % 25 == 0:
            state = {"model": model.state_dict(), "more": torch.zeros(25_000_000)}
            torch.save(state, os.path.join(folder, "last.pt"))
            os.sync()
            burn(0.4)
        if fault == "hiccup" and random.random() < 0.02:
            time.sleep(1.0)
        if fault == "pause" and global_step == 120:
            time.sleep(8)
        if fault == "grow":
            history.append(loss.item())
            burn(0.00012 * len(history))
        if fault == "crash" and budget.seconds / 2 < time.perf_counter() - (budget.began or 1e12):
            budget.step()
            budget.tell()
            raise RuntimeError("CUDA error: device-side assert triggered")
        if is_over := budget.step():
            break
        if fault == "validate" and global_step % 20 == 0:
            model.eval()
            with torch.no_grad():
                for number, (inputs, targets) in enumerate(valid_loader):
                    criterion(model(inputs.to(device)), targets.to(device))
                    if number == 39:
                        break
            model.train()
    epoch += 1
budget.tell()
