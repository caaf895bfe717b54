"""Keras on PyTorch or JAX."""

import os
import sys
import time

os.environ["KERAS_BACKEND"] = "jax" if "--jax" in sys.argv else "torch"

import keras
import numpy as np

from budget import Budget, burn

budget = Budget()
PICTURES = np.random.rand(32, 16, 16, 3).astype("float32")
LABELS = np.random.randint(0, 5, (32,))


class Pictures(keras.utils.PyDataset):
    def __len__(self):
        return 400

    def __getitem__(self, index):
        if budget.fault == "data":
            burn(0.03)
        return PICTURES, LABELS


class Watch(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if budget.fault == "callback":
            time.sleep(0.03)
        if budget.step():
            self.model.stop_training = True
            raise StopIteration


model = keras.Sequential(
    [
        keras.layers.Input((16, 16, 3)),
        keras.layers.Conv2D(32, 3, activation="relu"),
        keras.layers.Conv2D(32, 3, activation="relu"),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(5),
    ]
)
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
try:
    model.fit(Pictures(), epochs=1000, verbose=0, callbacks=[Watch()])
except StopIteration:
    pass
budget.tell()
