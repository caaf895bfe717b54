"""What kernel traces of all profilers share: columns of events to the tables of one rank.

A reader fills ``columns``; ``validate``, ``joins`` and ``vocabulary`` put them in order, ``tables``
gives the result, ``header`` what a trace says about itself.
"""
