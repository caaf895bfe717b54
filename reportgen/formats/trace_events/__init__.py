"""Timelines in Chrome's Trace Event Format: what SageMaker, Horovod and TensorFlow write."""
