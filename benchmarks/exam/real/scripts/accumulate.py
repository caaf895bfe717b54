"""Gradient accumulation, a model that returns a dict, mixed augmentation in the loop."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from budget import Budget, burn

EVERY = 4
budget = Budget()


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(1000, 128)
        layer = nn.TransformerEncoderLayer(128, 4, 256, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(128, 5)

    def forward(self, tokens, labels):
        logits = self.head(self.encoder(self.embed(tokens)).mean(1))
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


data = TensorDataset(torch.randint(0, 1000, (8000, 64)), torch.randint(0, 5, (8000,)))
loader = DataLoader(data, batch_size=8, shuffle=True)
model = Encoder()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 100)


def mix(tokens):
    """Mask some tokens, one at a time."""
    if budget.fault == "mix":
        burn(0.02)
    return tokens


is_over, step = False, 0
while not is_over:
    for tokens, labels in loader:
        out = model(mix(tokens), labels)
        (out["loss"] / EVERY).backward()
        step += 1
        if step % EVERY == 0:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
        if is_over := budget.step():
            break
budget.tell()
