"""The first family of jobs: every batch is an event that passes loaders, a queue and a step."""
