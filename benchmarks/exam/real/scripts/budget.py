"""How long a script trains, which fault it has, and what the examiner is told at its end."""

import argparse
import time


class Budget:
    """Ends a training after some seconds; counts its steps."""

    def __init__(self):
        parser = argparse.ArgumentParser()
        parser.add_argument("--fault", default="")
        parser.add_argument("--seconds", type=float, default=30)
        options, _ = parser.parse_known_args()
        self.fault, self.seconds = options.fault, options.seconds
        self.steps, self.began = 0, None

    def step(self):
        """Count a step; return whether the time is over."""
        self.steps += 1
        if self.began is None:  # the first step warms up
            self.began, self.steps = time.perf_counter(), 0
        return time.perf_counter() - self.began > self.seconds

    def tell(self):
        """Print what was done."""
        print(f"TRUE steps={self.steps} seconds={time.perf_counter() - self.began:.3f}", flush=True)


def burn(seconds):
    """Compute for a time of this thread's own, whatever else runs."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(2000))
