import torch
from torch.utils.data import DataLoader, TensorDataset

from tiny import say

model = torch.nn.Sequential(torch.nn.Embedding(100, 16), torch.nn.Linear(16, 100))
text, n = DataLoader(TensorDataset(torch.randint(100, (48, 32))), batch_size=4), 0
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for (tokens,) in text:
    model(tokens).logsumexp(-1).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    n += 1
say(TRAIN=n)
