"""What a recording must not change: copies, pickles, scripted modules, its own sitecustomize."""

import copy
import pickle

import torch

from tiny import Model, loader, loss_of, say

model, n = Model(), 0
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for batch in loader():
    loss_of(model, batch).backward()
    optimizer.step()
    optimizer.zero_grad()
    n += 1
assert model._forward_hooks, "the outermost module has a hook"
assert not model.first._forward_hooks
twin = copy.deepcopy(model)
assert torch.equal(twin(batch[0]), model(batch[0]))
stored = pickle.dumps(model)
assert b"reportgen" not in stored
assert torch.equal(pickle.loads(stored)(batch[0]), model(batch[0]))
torch.export.export(model, (batch[0],))
assert torch.equal(torch.jit.script(model)(batch[0]), model(batch[0]))
say(TRAIN=n)
