import os
import sys

os.environ["KERAS_BACKEND"] = sys.argv[1] if len(sys.argv) > 1 else "jax"

import keras
import numpy as np

x, y = np.random.rand(52, 8).astype("float32"), np.random.rand(52, 1).astype("float32")
model = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dense(4), keras.layers.Dense(1)])
model.compile("sgd", "mse", steps_per_execution=1 if sys.argv[1:] == ["torch"] else 4)
model.fit(x, y, batch_size=4, epochs=2, validation_data=(x[:16], y[:16]), verbose=0)
print("TRUE rank=0 TRAIN=26 EVAL=8")
