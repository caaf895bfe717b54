"""Ranks that multiprocessing starts, by spawn and by fork; each is a process with steps."""

import os
import sys

import torch

from tiny import Model, loader, loss_of, say


def train(rank):
    os.environ["RANK"] = str(rank)
    model, n = Model(), 0
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for batch in loader():
        loss_of(model, batch).backward()
        optimizer.step()
        optimizer.zero_grad()
        n += 1
    say(TRAIN=n)


if __name__ == "__main__":
    torch.multiprocessing.start_processes(train, nprocs=2, start_method=sys.argv[1])
