"""A model of jobs as threads: each runs until it needs a core, a disk, a link, or one another."""
