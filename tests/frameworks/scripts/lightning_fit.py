import sys

import torch

from tiny import Model, loader, loss_of, say

if sys.argv[1:] == ["pytorch_lightning"]:
    import pytorch_lightning as lightning
else:
    import lightning


class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.model, self.n_eval = Model(), 0

    def training_step(self, batch, _index):
        return loss_of(self.model, batch)

    def validation_step(self, batch, _index):
        self.n_eval += 1
        return loss_of(self.model, batch)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=1e-3)


module = Module()
trainer = lightning.Trainer(
    max_epochs=2,
    accelerator="cpu",
    devices=1,
    accumulate_grad_batches=2,
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
trainer.fit(module, loader(), loader())
say(TRAIN=trainer.global_step, EVAL=module.n_eval)
