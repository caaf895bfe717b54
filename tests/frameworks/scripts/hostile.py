"""What programs do to a recorder, chosen by the first word: the training goes on all the same."""

import os
import sys
import threading

import torch

from tiny import Model, loader, loss_of, say


def train(act=lambda index: None):
    model, n = Model(), 0
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for _ in range(2):
        for index, batch in enumerate(loader()):
            loss_of(model, batch).backward()
            optimizer.step()
            optimizer.zero_grad()
            n += 1
            act(index)
    say(TRAIN=n)


def broken(name):
    """Let a method of the recorder raise."""
    import reportgen_injected

    steps = reportgen_injected.active().steps

    def fail(*_args, **_kwargs):
        raise LookupError("a secret of the user")

    setattr(type(steps), name, fail)


def close_all(index):
    if index == 3:
        os.closerange(3, 256)


what = sys.argv[1]
if what == "close":
    train(close_all)
elif what == "thread":
    thread = threading.Thread(target=train)
    thread.start()
    thread.join()
elif what == "exec":
    if len(sys.argv) == 2:
        train()
        import time

        time.sleep(1.5)  # longer than an interval
        os.execv(sys.executable, [sys.executable, __file__, "exec", "again"])
    train()
elif what == "exception":
    train()
    raise SystemExit(5)
else:
    broken(what)
    train()
