"""What the network held up: the words and exhibits of NetworkBottleneck."""
