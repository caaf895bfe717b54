"""Train while batches are slow to make: ``sleep`` or ``compute``, and so many loader processes."""

import sys
import time

import torch

from tiny import Model

HOW, WORKERS = sys.argv[1], int(sys.argv[2])


class Slow(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        until = time.monotonic() + 0.02
        if HOW == "sleep":
            time.sleep(0.02)
        while time.monotonic() < until:
            pass
        return torch.zeros(8), torch.zeros(1)


if __name__ == "__main__":
    torch.set_num_threads(1)
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch, target in torch.utils.data.DataLoader(Slow(), batch_size=2, num_workers=WORKERS):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(batch), target).backward()
        optimizer.step()
