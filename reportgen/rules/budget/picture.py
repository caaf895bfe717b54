"""What the parts of GPU time are called on the page: from samples, and from kernels."""

from __future__ import annotations

from reportgen.results import PartWords

_WORK = ("busy_high", "busy_partial")
_SAMPLED_CAUSES = {
    "straggler": "for a slower GPU",
    "io_wait": "for I/O",
    "network": "for the network",
    "cpu_input": "for the CPU or for input",
    "between_steps": "between steps",
    "never_used": "on GPUs that the job never uses",
    "unexplained": "for no recorded reason",
}
_BEFORE_AND_AFTER = {"initialization": "before training", "finalization": "after training"}
_SAMPLED = PartWords(
    names={
        "busy_high": "busy",
        "busy_partial": "partly busy",
        "straggler": "waits for a slower GPU",
        "io_wait": "waits for I/O",
        "network": "waits for the network",
        "cpu_input": "waits for CPU or input",
        "between_steps": "between steps",
        "never_used": "GPU never used",
        "unexplained": "idle, cause unknown",
        "not_measured": "not measured",
    },
    did="worked in",
    work=_WORK,
    partly="busy_partial",
    causes=_SAMPLED_CAUSES,
    gaps=("between_steps", "never_used"),
    aside=_BEFORE_AND_AFTER,
    aside_says="went by before or after training",
    unmeasured="not_measured",
    groups={
        "Working": _WORK,
        "Idle while training": tuple(_SAMPLED_CAUSES),
        "Start and end": tuple(_BEFORE_AND_AFTER),
        "Not measured": ("not_measured",),
    },
)
_TRACED_CAUSES = {
    "cpu_input": "for the data loader",
    "host_blocked": "for a blocked host",
    "host_late": "for a slow host",
    "launch": "inside launch calls",
    "kernel_gap": "in short gaps between kernels",
    "waiting": "for other streams or events",
    "unexplained": "for no recorded reason",
}
_COMMUNICATION = "exposed_communication"
_TRACED = PartWords(
    names={
        "compute": "compute",
        _COMMUNICATION: "communication alone",
        "memory_operations": "copies and memsets",
        "cpu_input": "waits for the data loader",
        "host_blocked": "waits for a blocked host",
        "host_late": "waits for a slow host",
        "launch": "inside launch calls",
        "kernel_gap": "short gaps between kernels",
        "waiting": "waits for streams or events",
        "unexplained": "idle, cause unknown",
    },
    did="computed in",
    work=("compute",),
    causes=_TRACED_CAUSES,
    gaps=("launch", "kernel_gap"),
    aside={_COMMUNICATION: "communication alone"},
    aside_says="went into communication with nothing computed beside it",
    tells_aside=True,
    groups={
        "Computing": ("compute",),
        "Moving data": (_COMMUNICATION, "memory_operations"),
        "Idle": tuple(_TRACED_CAUSES),
    },
    has_window=True,
)
PICTURE_WORDS = (_SAMPLED, _TRACED)
"""The words of the first picture."""
PARTS = tuple(PartWords(names=words.names) for words in PICTURE_WORDS)
"""What tables call the parts."""
