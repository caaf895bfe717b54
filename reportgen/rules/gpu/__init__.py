"""How each GPU is used, how they share the work, how much room is left."""
