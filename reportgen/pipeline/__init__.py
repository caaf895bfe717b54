"""From a path to a page: the steps in order (``make``), and what joins them.

Each command imports its own module here: comparing saved reports needs none that makes one.
"""
