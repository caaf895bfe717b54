"""The timeline of a job: lanes of strips, arrows and counters, and the file that holds them."""
