"""The second family of jobs: workers are coroutines, and input is a fluid that fills buffers.

Nothing here is shared with the queue model but what is recorded. Cores, disk and network are
divided evenly among all who want them, instead of serving one after another; kernels may run behind
the host; lengths of batches come in buckets; noise is slow, or strikes at random instants.
"""
