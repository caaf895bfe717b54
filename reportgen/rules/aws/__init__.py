"""What only the results of AWS's rules need."""
