"""Facts about one part of a job that several rules need; no findings and no text."""
