import jax
import jax.numpy as jnp
import reportgen


@jax.jit
def update(w, x):
    return w - 1e-3 * jax.grad(lambda v: ((x @ v) ** 2).mean())(w)


w, n = jnp.ones((8, 1)), 0
for x in reportgen.steps(jnp.ones((4, 8)) for _ in range(15)):
    with reportgen.annotate("update"):
        w = update(w, x).block_until_ready()
    n += 1
print(f"TRUE rank=0 TRAIN={n}")
