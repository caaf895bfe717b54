"""What the rule about Python profiles is made of."""
