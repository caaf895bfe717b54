"""Training with loader processes."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from budget import Budget, burn

budget = Budget()


RECORD = torch.randn(32, 32)


class Records(Dataset):
    def __len__(self):
        return 960 if budget.fault == "many" else 6400

    def __getitem__(self, index):
        record = RECORD.clone()
        burn(0.004 if budget.fault == "heavy" else 0.0001)
        return record, torch.tensor([index % 7.0])


def main():
    model = nn.Sequential(nn.Flatten(), nn.Linear(1024, 512), nn.ReLU(), nn.Linear(512, 1))
    optimizer = torch.optim.Adam(model.parameters())
    n_workers = 24 if budget.fault == "many" else 2
    loader = DataLoader(Records(), batch_size=32, num_workers=n_workers, shuffle=True)
    while True:
        for inputs, targets in loader:
            loss = nn.functional.mse_loss(model(inputs), targets)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            burn(0.03)  # the loss of a second task, in Python
            optimizer.step()
            if budget.step():
                budget.tell()
                return


if __name__ == "__main__":
    main()
