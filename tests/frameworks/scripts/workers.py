"""Loader workers of all kinds; none of them writes anything."""

import torch

from tiny import Model, loader, loss_of, say


def main():
    model, n = Model(), 0
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    kept = loader(num_workers=2, persistent_workers=True, prefetch_factor=3)
    spawned = loader(num_workers=1, multiprocessing_context="spawn")
    served = loader(num_workers=1, multiprocessing_context="forkserver")
    for batches in (kept, kept, spawned, served):
        for batch in batches:
            loss_of(model, batch).backward()
            optimizer.step()
            optimizer.zero_grad()
            n += 1
    say(TRAIN=n)


if __name__ == "__main__":
    main()
