"""Core models: {X86,Arm,Power}{TimingSimple,Minor,O3}CPU with a machine's figures."""

from m5 import objects

from lockcross_gem5.figures import MINOR_WIDTH, whole_number

PREFIXES = {"x86_64": "X86", "aarch64": "Arm", "ppc64le": "Power"}
CLASSES = {"timing": "TimingSimpleCPU", "minor": "MinorCPU", "o3": "O3CPU"}

# The operation classes of the sentinel instructions (lockimpl/arch/latency_<isa>.h): latency's name
# -> class. Nothing else in the programs is of these classes.
SENTINELS = {
    "x86_64": {"sentinel_atomic": "SimdFloatSqrt", "sentinel_fence": "SimdFloatDiv"},
    "aarch64": {"sentinel_atomic": "FloatSqrt", "sentinel_fence": "FloatDiv"},
    "ppc64le": {"sentinel_atomic": "FloatAdd"},
}

# Minor, AArch64: instruction words of CASA and CASAL of any size, LDADD, STXR and STLXR, and of
# every DMB (Arm ARM, C4.1): (mask, match).
ATOMIC_WORDS = ((0x3FA07C00, 0x08A07C00), (0x3F20FC00, 0x38200000), (0x3FE00000, 0x08000000))
FENCE_WORDS = ((0xFFFFF0FF, 0xD50330BF),)


def cpu_class(isa, model):
    """The class of a core, or None where this gem5 lacks it."""
    return getattr(objects, PREFIXES[isa] + CLASSES[model], None)


def make_cpu(isa, model, number, figures, latencies):
    """One core. `latencies` (cycles): those of SENTINELS, and with Minor on AArch64 `fu_atomic` and
    `fu_fence`. Raises ValueError for a figure that is missing, or a latency that this core cannot
    be told."""
    sentinels = {SENTINELS[isa][n]: c for n, c in latencies.items() if n in SENTINELS[isa]}
    units = {n: c for n, c in latencies.items() if n in ("fu_atomic", "fu_fence")}
    known = len(sentinels) if model != "timing" else 0
    known += len(units) if (isa, model) == ("aarch64", "minor") else 0
    if known != len(latencies):
        raise ValueError(f"--latency: {isa} {model} cannot be told {', '.join(sorted(latencies))}")
    cpu = cpu_class(isa, model)(cpu_id=number)
    if model == "minor":
        _configure_minor(cpu, figures, sentinels, units)
    elif model == "o3":
        _configure_o3(cpu, figures, sentinels)
    return cpu


def _predictor(figures):
    """A table of two-bit counters, as the embedded engine has."""
    counters = objects.LocalBP(localPredictorSize=whole_number(figures, "predictor_entries"))
    if hasattr(objects, "ConditionalPredictor"):  # gem5 25.1 made of one class two
        return objects.BranchPredictor(conditionalBranchPred=counters)
    return counters


def _configure_minor(cpu, figures, sentinels, unit_latencies):
    width = min(MINOR_WIDTH, whole_number(figures, "width"))
    cpu.decodeInputWidth = cpu.executeInputWidth = width
    cpu.executeIssueLimit = cpu.executeCommitLimit = width
    cpu.executeLSQStoreBufferSize = whole_number(figures, "store_buffer")
    cpu.branchPred = _predictor(figures)
    divide = whole_number(figures, "lat_div")
    floats = objects.MinorDefaultFloatSimdFU()
    kept = [str(c.opClass) for c in floats.opClasses.opClasses if str(c.opClass) not in sentinels]
    units = [
        _integer_unit(figures, unit_latencies),
        _integer_unit(figures, unit_latencies),
        objects.MinorDefaultIntMulFU(opLat=whole_number(figures, "lat_mul")),
        objects.MinorDefaultIntDivFU(opLat=divide, issueLat=divide),
        objects.MinorDefaultFloatSimdFU(opClasses=_classes(kept)),
        objects.MinorDefaultPredFU(),
        _memory_unit(unit_latencies),
        objects.MinorDefaultMiscFU(),
    ]
    for op_class, cycles in sentinels.items():
        timing = objects.MinorFUTiming(srcRegsRelativeLats=[0])
        units.append(
            objects.MinorFU(opClasses=_classes([op_class]), timings=[timing], opLat=cycles)
        )
    cpu.executeFuncUnits = objects.MinorFUPool(funcUnits=units)


def _classes(names):
    return objects.MinorOpClassSet(
        opClasses=[objects.MinorOpClass(opClass=str(name)) for name in names]
    )


def _integer_unit(figures, latencies):
    """gem5's own unit: three stages, with the result forwarded after the first."""
    unit = objects.MinorDefaultIntFU(opLat=whole_number(figures, "lat_alu") + 2)
    if latencies.get("fu_fence"):
        unit.timings = [
            _commit_late(mask, match, latencies["fu_fence"], [2]) for mask, match in FENCE_WORDS
        ] + [objects.MinorFUTiming(description="Int", srcRegsRelativeLats=[2])]
    return unit


def _memory_unit(latencies):
    unit = objects.MinorDefaultMemFU()
    if latencies.get("fu_atomic"):
        unit.timings = [
            _commit_late(mask, match, latencies["fu_atomic"], [1], assumed=2)
            for mask, match in ATOMIC_WORDS
        ] + [objects.MinorFUTiming(description="Mem", srcRegsRelativeLats=[1], extraAssumedLat=2)]
    return unit


def _commit_late(mask, match, cycles, sources, assumed=0):
    return objects.MinorFUTiming(
        description="LockcrossLate",
        mask=mask,
        match=match,
        extraCommitLat=cycles,
        srcRegsRelativeLats=sources,
        extraAssumedLat=assumed,
    )


def _configure_o3(cpu, figures, sentinels):
    cpu.fetchBufferSize = min(64, whole_number(figures, "line"))  # gem5's own, or a line
    cpu.SQEntries = max(1, whole_number(figures, "store_buffer"))
    cpu.branchPred = _predictor(figures)
    op = objects.OpDesc
    integer = objects.IntALU(opList=[op(opClass="IntAlu", opLat=whole_number(figures, "lat_alu"))])
    multiply = objects.IntMultDiv(
        opList=[
            op(opClass="IntMult", opLat=whole_number(figures, "lat_mul")),
            op(opClass="IntDiv", opLat=whole_number(figures, "lat_div"), pipelined=False),
        ]
    )
    rest = [
        unit()
        for unit in (
            objects.FP_ALU, objects.FP_MultDiv, objects.ReadPort, objects.SIMD_Unit,
            objects.PredALU, objects.WritePort, objects.RdWrPort, objects.IprPort,
        )
    ]  # fmt: skip
    for unit in rest:
        unit.opList = [
            op(opClass=str(one.opClass), opLat=one.opLat, pipelined=one.pipelined)
            for one in unit.opList
            if str(one.opClass) not in sentinels
        ]
    own = [
        objects.FUDesc(opList=[op(opClass=op_class, opLat=cycles)], count=1)
        for op_class, cycles in sentinels.items()
    ]
    cpu.fuPool = objects.FUPool(FUList=[integer, multiply, *rest, *own])
