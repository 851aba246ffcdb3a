"""Where each figure of a machine goes in gem5, and which ones a core model cannot be told.

Plain Python, without m5: nothing here needs a running gem5.
"""

MODELS = ("timing", "minor", "o3")

# Figures of the core that a model cannot be told, unless they are what it does anyway.
_FIXED = {
    "timing": {
        "width": (1, "TimingSimple executes one instruction after the other"),
        "lat_alu": (1, "TimingSimple executes every operation in one cycle"),
        "lat_mul": (1, "TimingSimple executes every operation in one cycle"),
        "lat_div": (1, "TimingSimple executes every operation in one cycle"),
        "taken_branch": (0, "TimingSimple has no pipeline to refill"),
        "mispredict": (0, "TimingSimple has no pipeline to refill"),
        "predictor_entries": (None, "TimingSimple predicts no branches"),
        "store_buffer": (0, "TimingSimple waits for every store"),
        "blocking": (1, "TimingSimple waits for every access"),
        "pipeline": (0, "TimingSimple has no pipeline"),
        "micro_operations": (0, "micro-operations take no time of their own on TimingSimple"),
    },
    "minor": {
        "taken_branch": (None, "Minor's own fetch and decode stages decide"),
        "mispredict": (None, "the depth of Minor's pipeline decides"),
        "pipeline": (1, "Minor is a pipeline"),
        "blocking": (0, "Minor's loads and stores leave the pipeline"),
    },
    "o3": {
        "width": (None, "the machine's width is an in-order core's; O3 keeps gem5's widths (8)"),
        "taken_branch": (None, "O3's own fetch stage decides"),
        "mispredict": (None, "the depth of O3's pipeline decides"),
        "pipeline": (None, "the in-order pipeline of the embedded engine is Minor's"),
        "blocking": (0, "O3's loads and stores leave the pipeline"),
    },
}  # fmt: skip
_SHARED = {
    "offset_max": (0, "cores begin when their threads have met at a barrier of the program"),
    "lat_upgrade": (None, "the latencies of gem5's crossbar and L2 decide"),
    "lat_invalidate": (None, "the latencies of gem5's crossbar and L2 decide"),
}
_CRACKED = "gem5's pipelines execute x86 code as micro-operations"
_CHUNKS = {
    "timing": (8, "TimingSimple fetches x86 code in aligned chunks of 8 bytes"),
    "minor": (0, "Minor fetches whole lines"),
    "o3": (0, "O3 fetches whole lines"),
}
_OWN_COST = "the core model's own cost; a set latency is added to it"
_ATOMICS = ("cas_success", "cas_failure", "rmw")


def refused(model, isa, figures):
    """The figures that the model cannot be told: name -> reason. Whoever is told a figure that is
    what the model does anyway has been told nothing wrong."""
    found = {}
    for name, (only, reason) in {**_FIXED[model], **_SHARED}.items():
        if name in figures and figures[name] != only:
            found[name] = reason
    if isa == "x86_64":  # instructions of the others are whole words, and hardly any is cracked
        if model != "timing" and not figures.get("micro_operations", 1):
            found["micro_operations"] = _CRACKED
        chunk, reason = _CHUNKS[model]
        if figures.get("fetch_bytes", chunk) != chunk:
            found["fetch_bytes"] = reason
    for name in figures:
        if name in _ATOMICS or name.startswith("fence_"):
            found[name] = _OWN_COST
    return found


def whole_number(figures, name):
    """A figure that must be there. Raises ValueError."""
    if name not in figures:
        raise ValueError(f"--set {name}=... is missing")
    return figures[name]
