"""How GPU memory activity jumps and grows: the ground of GPUMemoryIncrease."""
