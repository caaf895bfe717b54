"""A LightningModule with validation and a callback."""

import time

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from budget import Budget, burn

budget = Budget()


class Series(Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        if budget.fault == "load":
            burn(0.0012)
        return torch.randn(64), torch.randn(1)


class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(64, 1024), nn.GELU(), nn.Linear(1024, 1024), nn.GELU(), nn.Linear(1024, 1)
        )

    def training_step(self, batch, _index):
        loss = nn.functional.mse_loss(self.net(batch[0]), batch[1])
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, _index):
        self.log("valid", nn.functional.mse_loss(self.net(batch[0]), batch[1]))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


class Watch(lightning.Callback):
    def on_train_batch_end(self, trainer, *_):
        if budget.fault == "callback":
            time.sleep(0.02)
        trainer.should_stop = budget.step()


trainer = lightning.Trainer(
    max_epochs=-1,
    accelerator="cpu",
    devices=1,
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
    callbacks=[Watch()],
)
trainer.fit(Module(), DataLoader(Series(9600), 32), DataLoader(Series(960), 32))
budget.tell()
