"""Bounds of what may be asked for, whoever asks: the command line, a plan, a machine."""

MAX_LATENCY = 10_000_000  # cycles; the plugin's own bound
MAX_SEED = 2**32 - 1
MAX_INSTRUCTIONS = 10**15  # also as cycles, in gem5's ticks, no more than 64 bits
MAX_TIME_S = 1_000_000  # a week and a half
MAX_JOBS = 1024
