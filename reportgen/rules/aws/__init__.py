"""Parts that only the results of AWS's rules need."""
