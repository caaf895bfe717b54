"""Train a small model whose loader is too slow: what `reportgen record` is for.

    reportgen record --report -- python docs/examples/slow_loader.py

Each batch of 16 images takes the single loader process about 80 ms, and the model 30 ms; the loop
waits for more than half of its time.
"""

import time

import torch
from torch.utils.data import DataLoader, Dataset

BATCH_SIZE, STEPS = 16, 250
DECODE_S, COMPUTE_S = 0.005, 0.030


class Images(Dataset):
    """Random images that take as long as decoding a photograph does."""

    def __len__(self) -> int:
        return BATCH_SIZE * STEPS

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        time.sleep(DECODE_S)
        return torch.rand(3, 32, 32), index % 10


def main() -> None:
    """Train one epoch."""
    torch.set_num_threads(1)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(7200, 10)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = DataLoader(Images(), batch_size=BATCH_SIZE, num_workers=1)
    for images, labels in loader:
        began_s = time.perf_counter()
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        time.sleep(max(0.0, COMPUTE_S - (time.perf_counter() - began_s)))
        optimizer.step()


if __name__ == "__main__":
    main()
