"""What it means that gem5's event loop returned. Plain Python, without m5."""

FINISHED = "exiting with last active thread context"
LIMIT = "simulate() limit reached"
WATCHED = "simpoint starting point found"  # what PcCountTracker says
INTERRUPTED = "user interrupt received"


def announced(cause, code):
    """The event of an m5 work item: (kind, core, phase), or None."""
    if cause == "workbegin":
        return ("phase" if code >> 8 else "begin", code & 0xFF, code >> 8)
    if cause == "workend":
        return ("end", code & 0xFF, 0)
    return None


def classify(cause, code):
    """What the end of a simulation means: finished, guest, limit, interrupted or unexpected."""
    if cause == FINISHED:
        return "guest" if code else "finished"
    return {LIMIT: "limit", INTERRUPTED: "interrupted"}.get(cause, "unexpected")
