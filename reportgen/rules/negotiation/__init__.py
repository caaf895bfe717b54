"""Which rank the others waited for before each collective, as Horovod's coordinator saw it."""
