"""What axes are called."""

AXIS_WORDS = {
    "cas": "CAS latency",
    "fence_latency": "full-fence latency",
    "cancel": "cost of a cancellation",
    "owner_share": "owner's share",
    "run_length": "run length",
    "threads": "threads",
}

UNIT_WORDS = {"ppm": "%"}  # how a unit is written, where not by its own name
