# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown] tags=["notebook-only"]
# # Comparison of two jobs
#
# This notebook draws a comparison from `profiler-comparison.json` beside it. Each section is one
# call; delete, move or add cells to adapt it.
#
# The same as data: `comparison.verdict`, `comparison.step.difference_s`, `comparison.waterfall`,
# `comparison.findings`, `comparison.moved`, `comparison.usage`, `comparison.metrics`.

# %% tags=["parameters"]
report_dir: str = "."  # The folder with profiler-comparison.json, relative to this notebook.

# %%
from reportgen import views
from reportgen.comparison import load

comparison = load(report_dir)

# %%
views.comparison_section(comparison, "verdict")

# %%
views.comparison_section(comparison, "comparability")

# %%
views.comparison_section(comparison, "step-time")

# %%
views.comparison_section(comparison, "waterfall")

# %%
views.comparison_section(comparison, "findings")

# %%
views.comparison_section(comparison, "moved")

# %%
views.comparison_section(comparison, "resources")

# %%
views.comparison_section(comparison, "metrics")
