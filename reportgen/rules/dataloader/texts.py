"""Messages of Dataloader: change the number of workers only where numbers speak for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from reportgen.results import Cause, Severity
from reportgen.rules.kit import CORES_ALONE, Message

TOO_SHORT = """Too short to judge: loaders were active in {n_seconds:count second}; more than
    {least}, or {least_waits} recorded waits, are needed."""
READERS = """ While it waited, all threads of {who} together computed for {computing_pct:pct} of the
    time. The loading thread waited for a core for {queued_pct:pct} of it, and slept or read for
    {resting_pct:pct}."""
PROCESSES, ITSELF = "a loader process", "the training process, which loads the batches itself,"
_WAITED = """The training process {worst.worker} waited {worst.waited_ns:ns} for batches, in
    {worst.n_waits:count recorded wait}"""
_LOOP = """{own_pct:pct} of the {worst.loop_ns:ns} from its first to its last step, evaluation
    included."""
TOGETHER = """ In each step all training processes wait for the one that waits longest: together
    {share_pct:pct}."""
WAITED = f"{_WAITED}: {_LOOP}"
WAITED_ESTIMATED = f"""{_WAITED}. Over all {{worst.n_steps:n}} steps this makes about
    {{worst.expected_ns:ns}}: {_LOOP}"""
ALONE = """ The other training processes wait for at most {others_pct:pct} of their time, as they
    wait for this one in their steps: look for what is different in it, such as its share of the
    data, its disk or load on its node. The slowest of equal ones takes all the waiting as well."""
WEARS_OFF = " {worst.early_pct:pct} of the waiting lies in the first quarter of that time."
PAUSED = """ Single pauses, which another finding tells, take {paused_pct:pct} of the time and are
    left out."""
NOW, EACH, IN_IT = " from {num_workers}", " in each training process", " in {worst.worker}"
HARDLY_WAITS = "training waits for data {share_pct:pct} of its time"
NO_WAITS = "no waits were recorded"
READ_BY_PROCESSES = "{Loaders} on {cores:count core}."
THREADS = (
    "TensorFlow loads in threads of the training process, so no loader processes can be counted."
)
CHEAPER_BATCHES = """Make each batch cheaper to load: preprocess ahead of the training, use fewer
    and larger files, a local copy or a cache, or decode on the GPU."""
CACHE = """Copy or cache the data before the training: the first reads are slow, and later ones
    hardly make training wait."""


WHILE_WAITING, IN_ITS_LOOP = "While it waited", "In its loop"


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """Additions of a cause of waiting to a finding: a sentence, and advice."""

    text: str
    advice: str


WHY: Mapping[Cause, Why] = {
    Cause.IO_WAIT: Why(
        text=""" {meanwhile}, {load.waiting_cores:.1f} cores waited for the disk, or for storage
            that is mounted over the network (mean).""",
        advice="""Read fewer and larger files, keep the data on a local or faster disk, or cache
            them in memory as far as they fit; more loader processes would wait for the same
            disk.""",
    ),
    Cause.NETWORK_INPUT: Why(
        text=""" While it waited, the node received data at a steady rate, {flat_pct:pct} of the
            mean of these minutes (median, without the data that it sent itself), and only
            {load.busy_cores:.1f} cores computed (mean): so the network limits the speed.""",
        advice="""Send less over the network: smaller or compressed records, a local copy or a cache
            of data that are read again; or take an instance with more network bandwidth. Where the
            storage answers slowly, larger reads and more loader processes help.""",
    ),
    Cause.CPU_PREPROCESSING: Why(
        text=""" {meanwhile}, {load.busy_cores:.1f} of {load.n_cores:count core} were busy
            (mean), with work of this job or of others: the rest leaves no room for more loader
            processes.""",
        advice=CHEAPER_BATCHES,
    ),
    Cause.TOO_MANY_LOADERS: Why(
        text=""" {meanwhile}, {load.busy_cores:.1f} of {load.n_cores:count core} were busy
            (mean): the loader processes must share them.""",
        advice="Lower num_workers{now} to {fitting}{each} and compare the step times.",
    ),
    Cause.TOO_FEW_LOADERS: Why(
        text=" {meanwhile}, {load.busy_cores:.1f} cores were busy (mean){by_others}.",
        advice="Raise num_workers{now} to {wanted}{each}; then check whether training still waits.",
    ),
    Cause.OTHER_PROGRAMS: Why(
        text=""" Other programs kept {work.other_cores:.1f} cores busy then, this job
            {work.own_cores:.1f} (means).""",
        advice=CORES_ALONE,
    ),
    Cause.SLOW_INPUT: Why(text="", advice=CHEAPER_BATCHES),
}

CORES_TRAIN = """ Without a GPU the cores also train: this job keeps them busy for {busy_pct:pct} of
    the time. More loader processes can only use the time in which cores are idle."""
HIDDEN = """ GPUs leave no more than {unused_pct:pct} of the time unused, so these waits cost no
    more: the host is ahead of the GPUs."""
STALLS = """ {stalls.n_long:n} of {stalls.n_waits:n} waits make {stalls.share_pct:pct} of this time:
    loading keeps up, and stalls now and then, for up to {stalls.longest_ns:ns}."""
FIND_STALLS = """Find what holds up loading now and then: storage that throttles or retries, a very
    large file, a lock, garbage collection. More loader processes do not help against it; a longer
    queue of batches (prefetch_factor) does."""
BY_OTHERS = ", {others:.1f} of them with other programs"
RECOMMENDED = "at least {threshold:g} are recommended, {limit_pct:g} % of the cores"
NOT_THE_CAUSE = """SageMaker's rule asks for at least {threshold:g} ({limit_pct:g} % of the cores),
    but their number is not why training waits here"""

TOO_FEW = Message(
    id="DL-1",
    cause=Cause.TOO_FEW_LOADERS,
    title="""Training waits {share_pct:pct} of {which_time} for data;
        {loaders} on {cores:count core}""",
    text="""{waited} {Loaders} on {cores:count core}; {wanted_number}.{why}{early}""",
    advice="Raise num_workers{now} to {wanted}{each}; then check whether training still waits.",
    unit="loaders",
    exhibit="loop_share",
)
ENOUGH = Message(
    id="DL-6",
    title="Loading is not a bottleneck: {hardly}",
    text="{readers} Waiting matters from {wait_pct:g} % of the time on.",
    advice="Leave the loading as it is.",
)
TOO_MANY = Message(
    id="DL-2",
    cause=Cause.TOO_MANY_LOADERS,
    title="{Loaders} compete for {cores:count core}",
    text="""{Loaders} on {cores:count core}: more than {limit}. They slow down each other and the
        training process.{and_waited}""",
    advice="Lower num_workers{now} to {fitting}{each} and compare the step times.",
    severity=Severity.WARNING,
    unit="loaders",
    exhibit="loaders",
)
INPUT_BOUND = Message(
    id="DL-5",
    cause=Cause.SLOW_INPUT,
    title="Training waits {share_pct:pct} of {which_time} for data",
    text="{waited} {Loaders} on {cores:count core}.{why}{early}",
    advice=CHEAPER_BATCHES,
    exhibit="loop_share",
)
THREADS_TOO_SLOW = replace(
    INPUT_BOUND,
    text=f"{{waited}} {THREADS}{{why}}",
    advice="""Let the input pipeline work in parallel: num_parallel_calls=tf.data.AUTOTUNE in map
        and interleave, cache() for data that fit in memory, and prefetch() at the end.""",
)
FIRST_BATCHES = Message(
    id="DL-6",
    cause=Cause.LOADER_START,
    title="Loading delays the start of epochs: {share_pct:pct} of the time",
    text="""{waited} Most of it is waiting for the first batches of epochs; after them training
        hardly waits.{bound}""",
    advice="""Keep the loader processes from epoch to epoch (persistent_workers=True, or one
        pipeline that repeats) and read the first batches ahead.""",
)

QUICK = Message(
    id="DL-6",
    title="Training gets a batch in {median_ns:ns}, which loader processes cannot shorten",
    text="""{waited} A wait lasts {median_ns:ns} (median): a loader process needs one or two
        milliseconds to hand over a batch that is ready{beside}. {readers}""",
    advice="""Leave the number of loader processes as it is. If the time matters, take larger
        batches, of which fewer are handed over, or ask for the next one in a separate thread.""",
    unit="% of the time",
)
QUICK_IN_LOOP = replace(
    QUICK,
    title="Training makes a batch in {median_ns:ns} itself",
    text="""{waited} A wait lasts {median_ns:ns} (median), in which the training process makes the
        batch; a loader process would need one or two milliseconds to hand it over{beside}.""",
    advice="""Loader processes would save little of it. If the time matters, make batches with less
        work, or ask for the next one in a separate thread.""",
)

BESIDE_OTHERS = ", and a few more where other programs have the cores, as here"
SAVES_NOTHING = ", so pinned memory would save almost nothing here"
NOT_SHOWN = "; the samples do not show for how much"
PIN_LATER = "Nothing to do now; to be ready for larger batches, set pin_memory=True."
NOT_PINNED = Message(
    id="DL-3",
    cause=Cause.UNPINNED_MEMORY,
    title="Batches are not in pinned memory",
    text="""The loader that was active longest has pin_memory off although the job has a GPU; so
        copies to the GPU cannot overlap with other work. Between receiving a batch and starting the
        step that uses it, GPUs wait for at most {measured:pct} of the time from the first to the
        last step{so}.""",
    advice="Set pin_memory=True and copy with non_blocking=True.",
    unit="% of the time",
    exhibit="loaders",
)
NO_PREFETCH = replace(
    NOT_PINNED,
    id="DL-4",
    cause=Cause.NO_PREFETCH,
    title="The input pipeline does not prefetch",
    text="""None of TensorFlow's loader events prefetches, so batches are made while training waits:
        {share_pct:pct} of its time.""",
    unit="%",
    advice="End the pipeline with dataset.prefetch(tf.data.AUTOTUNE).",
)
