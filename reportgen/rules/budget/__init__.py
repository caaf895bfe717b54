"""What a GPU's time went into: the parts of GPUTimeBudget, and how they are told."""
