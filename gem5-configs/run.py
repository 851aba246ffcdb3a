"""Runs one Lockcross program on a simulated multicore. To be run by gem5 (24.0 or later):

    gem5 gem5-configs/run.py --isa x86_64 --model minor --cores 2 --set width=2 ... \\
        -- PROGRAM key=value...

Writes lockcross.json into gem5's output folder: the figures as applied and as refused, by name,
when each core entered and left the region of interest, and how the simulation ended. The program's
own output is in guest.out and guest.err, gem5's resolved configuration in config.json.
"""

import argparse
import json
import sys
from pathlib import Path

import m5

sys.path.insert(0, str(Path(__file__).resolve().parent))

from lockcross_gem5.cores import CLASSES, PREFIXES, cpu_class
from lockcross_gem5.elf import addresses
from lockcross_gem5.figures import MODELS, PATHS, refused

REPORT = "lockcross.json"


def _pair(text):
    name, equals, value = text.partition("=")
    if not equals or not value.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r}: name=whole number is expected")
    return name, int(value)


def _arguments():
    parser = argparse.ArgumentParser(prog="run.py")
    parser.add_argument("--describe", action="store_true", help="print version and core models")
    parser.add_argument("--isa", choices=list(PREFIXES))
    parser.add_argument("--model", choices=MODELS)
    parser.add_argument("--memory", choices=list(PATHS), default="classic")
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--roi", choices=("m5", "pc_count"), default="pc_count")
    parser.add_argument("--phases", type=int, default=0, help="phases to watch for (pc_count)")
    parser.add_argument("--limit", type=int, default=10**10, help="cycles")
    parser.add_argument("--set", type=_pair, action="append", default=[], metavar="FIGURE=N")
    parser.add_argument("--latency", type=_pair, action="append", default=[], metavar="NAME=N")
    parser.add_argument("program", nargs="*")
    return parser.parse_args()


def describe():
    """What this gem5 is: version, how it was built, core models of each ISA, kinds of caches."""
    from _m5 import core
    from lockcross_gem5 import ruby
    from m5 import defines

    options = {k: v for k, v in defines.buildEnv.items() if isinstance(v, (str, int, bool))}
    return {
        "gem5_version": core.gem5Version,
        "compiled": core.compileDate,
        "build_options": options,
        "models": {
            isa: [model for model in CLASSES if cpu_class(isa, model) is not None]
            for isa in PREFIXES
        },
        "memories": [name for name in PATHS if name != "ruby" or ruby.is_built()],
    }


def run(arguments):
    """Builds the system, runs it and writes the report. Raises ValueError for what it cannot."""
    # Here, so that an older gem5, which lacks parts of it, can at least be asked for its version.
    from lockcross_gem5 import region
    from lockcross_gem5.system import build

    figures, latencies = dict(arguments.set), dict(arguments.latency)
    isa, model = arguments.isa, arguments.model
    if not (isa and model and arguments.program):
        raise ValueError("--isa, --model and a program are needed")
    if cpu_class(isa, model) is None:
        raise ValueError(f"this gem5 has no {model} core for {isa}")
    memory = arguments.memory
    root = build(isa, model, arguments.cores, figures, latencies, arguments.program, memory)
    watch = None
    if arguments.roi == "m5":
        root.system.exit_on_work_items = True
    else:
        places = addresses(arguments.program[0], list(region.SYMBOLS.values()))
        places = {kind: places[name] for kind, name in region.SYMBOLS.items()}
        watch = region.Watch(root.system, places, arguments.phases)
    m5.instantiate()
    period = m5.ticks.fromSeconds(1e-6 / figures["clock_mhz"])  # ticks a cycle
    events, statistics, end = region.simulate(root, watch, arguments.limit * period)
    not_told = refused(model, isa, figures, memory)
    report = {
        **describe(),
        "isa": isa,
        "model": model,
        "cores": arguments.cores,
        "roi": arguments.roi,
        "applied": {name: value for name, value in figures.items() if name not in not_told},
        "refused": not_told,
        "latencies": latencies,
        "events": [
            {"event": kind, "core": core, "phase": phase, "cycle": tick / period}
            for kind, core, phase, tick in events
        ],
        "total_cycles": m5.curTick() / period,
        "end": end,
        "statistics": statistics,
    }
    Path(m5.options.outdir, REPORT).write_text(json.dumps(report), encoding="utf-8")
    return end


def main():
    """The exit code: 0 the program ended (whatever its own code), 3 a limit, 4 anything else."""
    arguments = _arguments()
    if arguments.describe:
        print("lockcross-gem5: " + json.dumps(describe()))
        return 0
    try:
        end = run(arguments)
    except ValueError as error:
        print(f"lockcross-gem5: {error}", file=sys.stderr)
        return 2
    if end["class"] in ("finished", "guest"):
        return 0
    print(f"lockcross-gem5: {end['class']}: {end['cause']}", file=sys.stderr)
    return 3 if end["class"] == "limit" else 4


if __name__ == "__m5_main__":
    sys.exit(main())
