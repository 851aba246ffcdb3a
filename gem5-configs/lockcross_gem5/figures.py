"""Where each figure of a machine goes in gem5, and which ones a core model cannot be told.

Plain Python, without m5: nothing here needs a running gem5.
"""

MODELS = ("timing", "minor", "o3")
MINOR_WIDTH = 2  # instructions that Minor's two integer units issue in a cycle

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
        "width": (8, "O3 keeps gem5's widths (8)"),
        "taken_branch": (None, "O3's own fetch stage decides"),
        "mispredict": (None, "the depth of O3's pipeline decides"),
        "pipeline": (None, "the in-order pipeline of the embedded engine is Minor's"),
        "blocking": (0, "O3's loads and stores leave the pipeline"),
    },
}  # fmt: skip
# What is on the way beside a latency that is told, in cycles: a hit in the L1 beside its lookup, a
# clean fill from the L2 beside the L2's, one from memory beside that and the memory's own. It is of
# caches and crossbars, or of Ruby's controllers and network. With those of the classic caches
# workload rounds takes what the embedded engine says, on machine gem5_timing and with an L2 too
# small for its objects; with Ruby's, chains of loads (workload micro, op chase) take on O3 what
# they take there with the classic caches.
PATHS = {
    "classic": {"lat_l2": 4, "lat_memory": 11},
    "ruby": {"lat_l1": 1, "lat_l2": 5, "lat_memory": 8},
}

# Figures that every model is told, unless the tables here name them.
_TOLD = {
    "width", "lat_alu", "lat_mul", "lat_div", "predictor_entries", "store_buffer", "line",
    "l1_size", "l1_ways", "lat_l1", "l2_size", "l2_ways", "lat_l2", "lat_memory", "clock_mhz",
    "fetch_bytes", "micro_operations",
}  # fmt: skip
_FAR = ("cluster", "lat_dirty_far", "lat_upgrade_far")
_PLACES = ("returning_atomics", "store_atomics")
_AT_HOME = ("lat_far_atomic", "far_atomic_every")
_SHARED = {
    "offset_max": (0, "cores begin when their threads have met at a barrier of the program"),
    "lat_dirty": (None, "the latencies of gem5's network and L1 decide"),
    "lat_shared": (None, "the latencies of gem5's network and L2 decide"),
    "lat_upgrade": (None, "the latencies of gem5's network and L2 decide"),
    "lat_invalidate": (None, "the latencies of gem5's network and L2 decide"),
    "migratory": (0, "gem5's caches share a line that is read"),
    "lat_jitter": (0, "gem5's latencies are the same each time"),
    "ask_early": (None, "the core model decides when it asks for a line"),
    **dict.fromkeys(_PLACES, (0, "gem5's caches run every atomic in the core's own cache")),
    **dict.fromkeys(_AT_HOME, (None, "gem5's caches run no atomic elsewhere")),
    **dict.fromkeys(_FAR, (0, "gem5's network has all cores at one distance")),
}
_OF_MEMORY = {
    "classic": {"time_of_flight": (0, "the classic caches change the state of a line at once")},
    "ruby": {"time_of_flight": (1, "a line is on its way for as long as Ruby's messages")},
}
_CRACKED = "gem5's pipelines execute micro-operations"
_UNKNOWN = "gem5-configs/ knows no such figure"
_SHORT = "shorter than the path through gem5's caches and network"
_CHUNKS = {
    "timing": (8, "TimingSimple fetches x86 code in aligned chunks of 8 bytes"),
    "minor": (0, "Minor fetches whole lines"),
    "o3": (0, "O3 fetches whole lines"),
}
_OWN_COST = "the core model's own cost; a set latency is added to it"
_ATOMICS = ("cas_success", "cas_failure", "rmw")


def refused(model, isa, figures, memory):
    """The figures that the model cannot be told: name -> reason. Whoever is told a figure that is
    what the model does anyway has been told nothing wrong."""
    found, fixed = {}, {**_FIXED[model], **_SHARED, **_OF_MEMORY[memory]}
    for name, (only, reason) in fixed.items():
        if name in figures and figures[name] != only:
            found[name] = reason
    if model == "minor" and figures.get("width", 1) > MINOR_WIDTH:
        found["width"] = "Minor issues two at most; the machine's width is an out-of-order core's"
    if isa != "ppc64le" and model != "timing" and not figures.get("micro_operations", 1):
        found["micro_operations"] = _CRACKED
    if isa == "x86_64":  # instructions of the others are whole words
        chunk, reason = _CHUNKS[model]
        if figures.get("fetch_bytes", chunk) != chunk:
            found["fetch_bytes"] = reason
    for name, path in PATHS[memory].items():
        least = path + (figures.get("lat_l2", 0) if name == "lat_memory" else 0)
        if figures.get(name, least + 1) <= least:
            found[name] = _SHORT
    for name in figures:
        if name not in _TOLD and name not in fixed:
            found[name] = _UNKNOWN
        if name in _ATOMICS or name.startswith("fence_"):
            found[name] = _OWN_COST
    return found


def whole_number(figures, name):
    """A figure that must be there. Raises ValueError."""
    if name not in figures:
        raise ValueError(f"--set {name}=... is missing")
    return figures[name]
