"""A multicore in SE mode: cores, private L1 caches, a shared L2, memory."""

from m5 import objects
from m5.objects import Cache, L2XBar, Process, Root, SEWorkload, SimpleMemory, System, SystemXBar

from lockcross_gem5 import ruby
from lockcross_gem5.cores import make_cpu
from lockcross_gem5.figures import PATHS, whole_number

MEMORY = "512MiB"


def build(isa, model, cores, figures, latencies, command, memory):
    """The root of a system that runs `command` (a program and its arguments) on `cores` cores.

    `figures`: a machine's (cycles, bytes, entries, MHz); `latencies`: see cores.make_cpu;
    `memory`: "classic" caches or "ruby". Raises ValueError for a figure that is missing.
    """
    system = System(cache_line_size=whole_number(figures, "line"), mem_mode="timing")
    system.mem_ranges = [objects.AddrRange(MEMORY)]
    system.clk_domain = objects.SrcClockDomain(
        clock=f"{whole_number(figures, 'clock_mhz')}MHz", voltage_domain=objects.VoltageDomain()
    )
    system.cpu = [make_cpu(isa, model, number, figures, latencies) for number in range(cores)]
    if memory == "ruby":
        ruby.connect(system, figures)
    else:
        _connect_caches(system, model, figures)
    _load(system, command)
    return Root(full_system=False, system=system)


def _cache(latency, answer, **parameters):
    """A cache that looks up tag and data at once; a fill takes `answer` cycles on its way up."""
    return Cache(tag_latency=latency, data_latency=latency, response_latency=answer, **parameters)


def _connect_caches(system, model, figures):
    l1 = whole_number(figures, "lat_l1")
    system.l2_bus = L2XBar()
    system.memory_bus = SystemXBar()
    for cpu in system.cpu:
        # Instructions are not what is studied: the embedded engine has no instruction cache. One
        # that takes a cycle is hidden by the pipelines; TimingSimple would add it to each one.
        fetch = 0 if model == "timing" else 1
        cpu.icache = _cache(fetch, fetch, size="128KiB", assoc=8, mshrs=4, tgts_per_mshr=20)
        cpu.dcache = _cache(
            l1,
            l1,
            size=f"{whole_number(figures, 'l1_size')}B",
            assoc=whole_number(figures, "l1_ways"),
            mshrs=8,  # a locked operation holds one
            tgts_per_mshr=20,
        )
        cpu.icache.cpu_side, cpu.dcache.cpu_side = cpu.icache_port, cpu.dcache_port
        cpu.icache.mem_side = cpu.dcache.mem_side = system.l2_bus.cpu_side_ports
        cpu.createInterruptController()
        for interrupts in cpu.interrupts:
            if hasattr(interrupts, "pio"):  # x86
                interrupts.pio = system.memory_bus.mem_side_ports
                interrupts.int_requestor = system.memory_bus.cpu_side_ports
                interrupts.int_responder = system.memory_bus.mem_side_ports
    l2 = whole_number(figures, "lat_l2")
    system.l2 = _cache(
        max(1, l2 - PATHS["classic"]["lat_l2"]),
        1,
        size=f"{whole_number(figures, 'l2_size')}B",
        assoc=whole_number(figures, "l2_ways"),
        mshrs=32,
        tgts_per_mshr=20,
    )
    system.l2.cpu_side = system.l2_bus.mem_side_ports
    system.l2.mem_side = system.memory_bus.cpu_side_ports
    memory = max(1, whole_number(figures, "lat_memory") - l2 - PATHS["classic"]["lat_memory"])
    system.memory = SimpleMemory(
        range=system.mem_ranges[0], latency=f"{memory * 1000 / figures['clock_mhz']}ns"
    )
    system.memory.port = system.memory_bus.mem_side_ports
    system.system_port = system.memory_bus.cpu_side_ports


def _load(system, command):
    process = Process(
        cmd=["lockcross", *command[1:]],
        executable=command[0],
        cwd="/",
        output="guest.out",
        errout="guest.err",
    )
    system.workload = SEWorkload.init_compatible(command[0])
    for cpu in system.cpu:
        cpu.workload = process  # the same: its threads are clones
        cpu.createThreads()
