"""Made-up training jobs in the real raw format, with the truth about what was planted in them."""
