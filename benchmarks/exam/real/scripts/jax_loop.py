"""A training loop in JAX, marked with `reportgen.steps`."""

import jax
import jax.numpy as jnp
import numpy as np
import reportgen

from budget import Budget, burn

budget = Budget()
rng = np.random.default_rng(1)


def examples():
    while True:
        x = rng.standard_normal((256, 256), dtype="float32")
        if budget.fault == "prepare":
            burn(0.015)
        yield x, x[:, :1]


@jax.jit
def update(weights, x, y):
    def loss(weights):
        hidden = x
        for w in weights[:-1]:
            hidden = jnp.tanh(hidden @ w)
        return ((hidden @ weights[-1] - y) ** 2).mean()

    grads = jax.grad(loss)(weights)
    return [w - 1e-3 * g for w, g in zip(weights, grads)]


weights = [
    jnp.array(rng.standard_normal(s, dtype="float32") / 16) for s in [(256, 256)] * 8 + [(256, 1)]
]
for x, y in reportgen.steps(examples()):
    weights = update(weights, x, y)
    jax.block_until_ready(weights)
    if budget.fault == "log":
        burn(0.01)
    if budget.step():
        break
budget.tell()
