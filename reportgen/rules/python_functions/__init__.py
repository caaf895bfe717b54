"""PythonFunctions: where the Python code of a job spends its time, and what does not train."""

from __future__ import annotations

from reportgen.profiling import ProfilingKind
from reportgen.results import RuleId, Section
from reportgen.rules.base import About, Need, Rule
from reportgen.rules.python_functions.judge import NO_TRAINING, judge
from reportgen.rules.python_functions.measure import Params, measure

ABOUT = About(
    checks="Which Python functions took the time, and whether logging, saving or metrics did.",
    reading=(
        "Profiles of cProfile or pyinstrument, merged by the stage that they cover. cProfile makes "
        "code with many small calls slower than it is: compare shares, not seconds."
    ),
    advice=NO_TRAINING.advice,
    section=Section(id="python-functions", title="Python functions", order=190),
    is_optional=True,
    hint_when_skipped=(
        "To record them, pass a PythonProfilingConfig in the job's FrameworkProfile: it runs "
        "cProfile or pyinstrument over the steps that you name."
    ),
    recorded_by=ProfilingKind.PYTHON,
)

RULE = Rule(
    id=RuleId("PythonFunctions"),
    title="Python functions",
    about=ABOUT,
    needs=(Need.PYTHON, Need.FRAMEWORK),
    params=Params,
    measure=measure,
    judge=judge,
)
