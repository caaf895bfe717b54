"""Efficiency: how much of a GPU's peak its busy time reaches, from kernel traces with shapes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reportgen import results
from reportgen.facts.operator_flops import WorkClass
from reportgen.results import DashboardPanel, Exhibit, Finding, Place, Role
from reportgen.rules import kit
from reportgen.rules.base import About, Need, Outcome, Rule
from reportgen.rules.efficiency import tables
from reportgen.rules.efficiency.measure import Params, RankWork, measure
from reportgen.text import join_names, one_line, write
from reportgen.units import NS_PER_US, pct_of

FAR_PCT = 40.0
"""Below this share of what the GPU can do an operator is far from it; large, well aligned products
of cuBLAS reach 60 to 80 % (docs/efficiency.md). Higher: more operators are reported."""
REACHABLE_PCT = 70.0
"""The share that large products reach in practice (docs/efficiency.md): the possible gain counts
the way to it and no more."""
SMALL_CALL_NS = 20 * NS_PER_US
"""A call that needs less at the peak does not fill the GPU: its launch and its first and last tiles
take 5 to 10 us (docs/definitions.md, Launch latency). Longer: more operators are called small."""
WORTH_RATIO = 0.03
"""Operators cost the same in each step, so less is worth a look than of stops of a loop, which are
never quite alike: ``aten::_flash_attention_forward`` of h100_qwen_inference costs 4 %."""
MUCH_PCT = 25.0
"""Elementwise work below this share of kernel time is usual in a well fused training."""
AT_BANDWIDTH_PCT, FAR_FROM_BANDWIDTH_PCT = 70.0, 30.0
"""Shares of the memory's bandwidth from which on only fusion helps, and below which strides or
small sizes hold the kernels up (docs/efficiency.md)."""
MOST_UNKNOWN_PCT = 80.0
"""A bar of shares of the peak that is grey for more than four fifths shows nothing."""
MOST_ROWS = 2_000
KNOWN_OF_FEW = """FLOPs are known for {known:pct} of the time of matrix products, convolutions and
    attention. Older traces do not name the options of a convolution."""
OF_STEPS = " At the peak the operations of the steps would take {mfu:pct} of their time (MFU)."
FROM_CACHE = " Above 100 % of the bandwidth, data come from the cache."
HOW_TO_RECORD = (
    "Record with torch.profiler.profile(record_shapes=True), or give the model's size: "
    "--params 7e9 --tokens-per-step 65536."
)

ABOUT = About(
    checks="How much of the GPU's peak matrix products, convolutions and attention reach.",
    reading="""Operations are counted from the sizes of the inputs; the peaks are dense, from the
        table in docs/efficiency.md. A share is given only where sizes, number format and GPU are
        known.""",
    advice="Make large products larger and aligned; fuse what only moves data.",
    section=results.Section(
        id="efficiency",
        title="Efficiency",
        order=65,
        lead="How fast is the time in which the GPU is busy?",
        missing="""The trace holds no sizes of inputs, so operations cannot be counted.""",
        hint=HOW_TO_RECORD,
    ),
    second_picture=tables.PEAK_BANDS,
    hint_when_skipped=HOW_TO_RECORD,
)
ADVICE = {
    "FP32": "Allow TF32 (torch.set_float32_matmul_precision('high')) or train in BF16.",
    "not a multiple": "Pad sizes such as vocabulary and hidden width to multiples of 64.",
    "small": "Raise the batch{join}.",
    "thin": "Raise the batch{join}.",
}
"""What to try, by a word of the reason."""
JOIN = ", and join products that share an input"
ADVICE_OTHERWISE = "Try torch.compile(mode='max-autotune') and newer kernel libraries."
ADVICE_COMPILED = "Try newer kernel libraries."
FUSE = "Fuse them: torch.compile, or fused layers (norm, optimizer, loss)."
STRIDED = " Small or strided tensors hold these kernels up: make them contiguous once."
FAR_FROM_PEAK = kit.Message(
    id="EFF-1",
    cause=results.Cause.LOW_EFFICIENCY,
    title="{name}{others} below {threshold:pct} of what the GPU can do",
    text="""Matrix products, convolutions and attention that need more than {times}× the time that
        the peak and the memory's bandwidth allow take {spent:ns}, {of_kernels:pct} of kernel time.
        First {name} with inputs {sizes}: {worst:ns} where {bound:ns} are needed at least
        ({measured:pct}).{reasons} The possible gain counts the way to {reachable:pct}, which large
        products reach in practice.""",
    advice="{advice}",
    exhibit=tables.OPERATORS,
)
ELEMENTS = kit.Message(
    id="EFF-2",
    cause=results.Cause.UNFUSED_WORK,
    title="{measured:pct} of kernel time is elementwise work",
    text="""Elementwise work and reductions only move data{reached}. The possible gain
        assumes that fusion saves half of what they move.""",
    advice="{fuse}{more}",
    exhibit=tables.CLASSES,
)

UNFUSED_ATTENTION = kit.Message(
    id="EFF-3",
    cause=results.Cause.UNFUSED_WORK,
    title="Attention is not fused: {measured:pct} of kernel time",
    text="""{product}, {softmax} and {product} compute attention: its scores, {sizes}, are written
        to memory and read again. With all else that is done on the scores this takes {spent:ns}.
        The possible gain assumes that a fused kernel leaves only the time of the products.""",
    advice="""Call torch.nn.functional.scaled_dot_product_attention, in FP16 or BF16 (Transformers:
        attn_implementation="sdpa").""",
    exhibit=tables.OPERATORS,
)


def judge(ranks: Sequence[RankWork], params: Params) -> Outcome:
    """Report how much of the peak is reached, and what is far from it."""
    job = kit.merge(ranks)
    rows = tables.operator_rows(job, params)
    use = tables.utilization_of(job, rows, len(ranks), params)
    missing = kit.reason_without_gpu(job.window_ns)
    if missing or not any(key.work for key in job.work):
        return Outcome(
            missing=missing or (None if use else _say_without_shapes(job, params)),
            exhibits=[_utilization(job, use, params)] if use else (),
            metrics=_ratios(use),
        )
    findings, known_pct = list(_findings(job, rows)), tables.known_of_products_pct(rows)
    has_few = not findings and known_pct <= 100 - MOST_UNKNOWN_PCT
    return Outcome(
        missing=write(KNOWN_OF_FEW, known=known_pct) if has_few else None,
        findings=findings,
        exhibits=list(_exhibits(job, rows, use, params)),
        metrics=_metrics(job, rows, use),
    )


def _say_without_shapes(job: RankWork, params: Params) -> str:
    graphs = " Its kernels run from CUDA graphs, whose operators are in the trace of the capture."
    text = "No sizes of inputs of matrix products, convolutions or attention are in the trace."
    steps = " No steps are recorded that --params and --tokens-per-step could be compared with."
    return text + graphs * job.has_graphs + steps * (params.flops_per_step is not None)


def _findings(job: RankWork, rows: Sequence[tables.BySize]) -> Iterator[Finding]:
    far = [row for row in rows if row.flops and (reached := row.pct_of_bound) and reached < FAR_PCT]
    saved_ns = sum(row.time_ns * (1 - (row.pct_of_bound or 0.0) / REACHABLE_PCT) for row in far)
    spent_ns = sum(row.time_ns for row in far)
    share = _share(saved_ns, job)
    if share >= WORTH_RATIO:
        worst = max(far, key=lambda row: row.headroom_ns or 0.0)
        others_ns = sum(row.time_ns for row in far if row.operator != worst.operator)
        found = kit.sum_by_key({_reason(row): row.headroom_ns or 0.0} for row in far)
        # The reason that costs most is told first.
        reasons = sorted(filter(None, found), key=lambda reason: -found[reason])
        yield FAR_FROM_PEAK.finding(
            measured=worst.pct_of_bound,
            threshold=FAR_PCT,
            severity=kit.cost_severity(share),
            share=share,
            advice=_advice(reasons, job, is_product=worst.key.work_class == WorkClass.MATMUL),
            name=worst.operator,
            others=" and others" if pct_of(others_ns, spent_ns) >= tables.TOLD_FROM_PCT else "",
            sizes=worst.input_dims.partition(",[]")[0],
            times=round(100 / FAR_PCT, 1),
            spent=spent_ns,
            of_kernels=pct_of(spent_ns, job.kernel_ns),
            worst=worst.time_ns,
            bound=worst.bound_ns,
            reachable=REACHABLE_PCT,
            reasons=f" Why: {join_names(reasons)}." if reasons else "",
        )
    on_scores, products = tables.unfused_attention(rows)
    share = _share(sum(row.time_ns for row in on_scores), job)
    if share >= WORTH_RATIO:
        spent_ns = sum(row.time_ns for row in (*products, *on_scores))
        yield UNFUSED_ATTENTION.finding(
            measured=pct_of(spent_ns, job.kernel_ns),
            severity=kit.cost_severity(share),
            share=share,
            product=products[0].operator,
            softmax=min((row.operator for row in on_scores if "softmax" in row.operator), key=len),
            sizes=f"{on_scores[0].input_dims.partition(']')[0]}]",
            spent=spent_ns,
        )
    yield from _of_elements(job, [row for row in rows if row not in on_scores])


def _share(saved_ns: float, job: RankWork) -> float:
    return min(saved_ns / job.window_ns, 1.0) if job.window_ns else 0.0


def _reason(row: tables.BySize) -> str:
    is_small = (row.bound_ns or 0.0) < SMALL_CALL_NS * row.n_calls
    return "calls are too small to fill the GPU" if is_small else row.reason


def _advice(reasons: Sequence[str], job: RankWork, *, is_product: bool) -> str:
    first = reasons[0] if reasons else ""
    otherwise = ADVICE_COMPILED if job.is_compiled else ADVICE_OTHERWISE
    advice = next((advice for word, advice in ADVICE.items() if word in first), otherwise)
    return advice.replace("{join}", JOIN if is_product else "")


def _of_elements(job: RankWork, rows: Sequence[tables.BySize]) -> Iterator[Finding]:
    elements = [row for row in rows if row.key.work_class == WorkClass.ELEMENTWISE]
    spent_ns = sum(row.time_ns for row in elements) - job.fused_ns
    share = _share(spent_ns / 2, job)
    if pct_of(spent_ns, job.kernel_ns) < MUCH_PCT or share < WORTH_RATIO:
        return
    known = [row for row in elements if row.pct_of_bandwidth is not None]
    reached = more = ""
    if known_ns := sum(row.time_ns for row in known):
        pct = pct_of(sum(row.bound_ns or 0.0 for row in known), known_ns)
        reached = ", at {pct:pct} of the memory's bandwidth where sizes are known"
        reached = write(reached, pct=pct) + ": only moving less helps" * (pct >= AT_BANDWIDTH_PCT)
        more = STRIDED * (pct < FAR_FROM_BANDWIDTH_PCT)
    yield ELEMENTS.finding(
        measured=pct_of(spent_ns, job.kernel_ns),
        threshold=MUCH_PCT,
        severity=kit.cost_severity(share),
        share=share,
        reached=reached,
        fuse=one_line(kit.FIND_BREAKS) if job.is_compiled else FUSE,
        more=more,
    )


def _exhibits(
    job: RankWork, rows: Sequence[tables.BySize], use: Sequence[tables.Utilization], params: Params
) -> Iterator[Exhibit]:
    said = write(
        "FLOPs are known for {known:pct} of kernel time ({ns:ns}, communication left out).",
        known=tables.coverage_pct(rows, job.kernel_ns),
        ns=job.kernel_ns,
    )
    roofs = tables.roofs_text(job, params)
    reached, mfu = tables.how_fast(rows, job.kernel_ns), _ratios(use)["mfu_ratio"]
    reached += "" if mfu is None else write(OF_STEPS, mfu=100 * mfu)
    bands = tables.by_peak(rows, job.kernel_ns)
    has_bands = pct_of(dict(bands).get(tables.NO_FLOPS, 0), job.kernel_ns) < MOST_UNKNOWN_PCT
    if has_bands:
        yield kit.ranking(
            tables.PEAK_BANDS,
            bands,
            title="Kernel time by the share of the peak that it reaches",
            caption=reached,
            role=Role.GPU,
            roles=[Role.GPU if name != tables.NO_FLOPS else Role.OTHER for name, _ in bands],
        )
    yield kit.table(
        tables.CLASSES,
        tables.class_rows(rows, job.kernel_ns),
        tables.OfClass,
        title="Work by class",
        caption=f"""{said} {"" if has_bands else reached} {roofs} bound_us is the least time that
            operations and bytes allow. Copies are no part of kernel time.""",
    )
    if placed := [row for row in rows[:MOST_ROWS] if row.tflops_per_s and row.least_bytes]:
        yield kit.table(
            tables.ROOFLINE,
            placed,
            tables.Dot,
            title="Roofline: the speed of operators, and what the GPU allows",
            caption="""Each dot is an operator with inputs of one size; its area is the time. Under
                the slope the memory's bandwidth is the limit, under the flat roof the peak of the
                format. The distance to its roof is what faster kernels could win.""",
            drawn_as=results.ExhibitKind.ROOFLINE,
            role=Role.GPU,
        )
    yield kit.table(
        tables.OPERATORS,
        rows[:MOST_ROWS],
        tables.BySize,
        title="Operators by the sizes of their inputs",
        caption=_on_operators(rows),
    )
    if use:
        yield _utilization(job, use, params)


def _utilization(job: RankWork, use: Sequence[tables.Utilization], params: Params) -> Exhibit:
    model = """ Counted by parameters and tokens, a step has 6 operations for each parameter and
        token, attention 12 · layers · width · length for each token, and the peak is that of BF16,
        or of FP16 where a GPU does not compute in BF16. """ + tables.roofs_text(job, params)
    return kit.table(
        "utilization",
        use,
        tables.Utilization,
        title="Model FLOPs utilization of the recorded steps",
        caption="""mfu_pct is the time that the model's operations take at the dense peak of
            their format, as a share of the steps; hfu_pct also counts what activation
            checkpoints compute again. Operations without known sizes are not counted, so both
            are lower bounds."""
        + model * (params.flops_per_step is not None),
    )


def _on_operators(rows: Sequence[tables.BySize]) -> str:
    n_beyond = sum(row.reason == tables.BEYOND for row in rows)
    beyond = write(
        " {n:count operator} of these is faster than the peak allows: its format or time is not"
        " what the trace says, and its FLOPs count as unknown.",
        n=n_beyond,
    )
    shown = min(len(rows), MOST_ROWS)
    return (
        "All calls of one operator with inputs of one size, by time. headroom_us is their time"
        " beyond the bound."
        + kit.left_out(" Shown are {shown:n} of {every:n}.", shown=shown, every=len(rows))
        + beyond * bool(n_beyond)
        + FROM_CACHE * any((row.pct_of_bandwidth or 0) > 100 for row in rows)
    )


def _metrics(
    job: RankWork, rows: Sequence[tables.BySize], use: Sequence[tables.Utilization]
) -> dict[str, float | int | None]:
    peak_pct = tables.mean(rows, "pct_of_peak")
    return {
        "flops_known_ratio": tables.coverage_pct(rows, job.kernel_ns) / 100,
        "peak_ratio": None if peak_pct is None else peak_pct / 100,
        **_ratios(use),
        "flops": sum(row.flops or 0 for row in rows),
    }


def _ratios(use: Sequence[tables.Utilization]) -> dict[str, float | int | None]:
    """Return MFU and HFU of a job on one kind of GPU, by the sizes of inputs if they say it."""
    is_one = len({row.gpu for row in use}) == 1
    mfu_pct, hfu_pct = (use[0].mfu_pct, use[0].hfu_pct) if is_one else (None, None)
    return {"mfu_ratio": mfu_pct and mfu_pct / 100, "hfu_ratio": hfu_pct and hfu_pct / 100}


RULE = Rule(
    id=results.RuleId("Efficiency"),
    title="Efficiency",
    about=ABOUT,
    needs=(Need.KERNELS,),
    params=Params,
    measure=measure,
    judge=judge,
    places={
        tables.PEAK_BANDS: Place(
            dashboard=DashboardPanel(
                order=67,
                headline="{title}: {pct} at {part}",
                row_of="pct",
                passed_over=(tables.NO_FLOPS,),
            )
        )
    },
)
