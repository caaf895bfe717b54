"""An exam for the diagnosis: generated jobs whose faults are known, and how they are marked.

``python -m benchmarks.exam --help`` says how to run it; ``docs/diagnosis.md`` has the results.
Nothing of the package ``reportgen`` imports this one.
"""
