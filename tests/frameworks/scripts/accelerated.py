import torch
from accelerate import Accelerator

from tiny import Model, loader, loss_of, say

accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
model, n = Model(), 0
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
model, optimizer, batches = accelerator.prepare(model, optimizer, loader())
for _ in range(2):
    for batch in batches:
        with accelerator.accumulate(model):
            accelerator.backward(loss_of(model, batch))
            optimizer.step()
            optimizer.zero_grad()
            n += accelerator.sync_gradients
say(TRAIN=n)
# A model that outlives its group keeps its threads: one end in seven aborts, also unrecorded.
del model, optimizer, batch, batches
accelerator.free_memory()
accelerator.end_training()
