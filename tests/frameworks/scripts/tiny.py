"""What the scripts share: a tiny model, random data, and how they say their true counts."""

import os

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)
BATCHES = 12


class Model(torch.nn.Module):
    """Two layers with names."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(8, 16)
        self.second = torch.nn.Linear(16, 1)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


def data(n_batches=BATCHES):
    return TensorDataset(torch.randn(4 * n_batches, 8), torch.randn(4 * n_batches, 1))


def loader(**options):
    return DataLoader(data(), batch_size=4, **options)


def loss_of(model, batch):
    x, y = batch
    return ((model(x) - y) ** 2).mean()


def say(**counts):
    """Print the true counts of this rank as the last line."""
    words = " ".join(f"{mode}={n}" for mode, n in counts.items())
    # One write that begins a line: another rank may have written all but the end of its own.
    os.write(1, f"\nTRUE rank={os.environ.get('RANK', '0')} {words}\n".encode())
