"""The memory system: private L1s, slices of a shared inclusive cache, memory; what connects them.

All clocks are the cores'. Links of a quarter of a cycle bring what a part sends in one cycle to the
next part's following one (element/frontend.h).
"""

import sst

from lockcross_sst.network import Network


def build(settings):
    """Builds everything that `settings` describes. Its components are found by name later."""
    frontend = sst.Component("frontend", "lockcross.frontend")
    numbers = settings.numbers
    frontend.addParams(
        {
            "period": settings.period,
            "cores": numbers["cores"],
            "line": numbers["line"],
            "lat_l1": numbers["lat_l1"],
            "lat_miss": numbers["lat_l1"] + settings.figures["lat_slice"],
            "lines": settings.lines,
            "oldest_request": numbers["oldest_request"],
            "guest": len(settings.guest),
            **{f"guest{n}": word for n, word in enumerate(settings.guest)},
            **{name: settings.files[name] for name in ("guest_stdout", "guest_stderr", "record")},
        }
    )
    l1s = [_l1(settings, frontend, core) for core in range(numbers["cores"])]
    slices = [_slice(settings, number) for number in range(settings.figures["slices"])]
    if settings.topology == "bus":
        _connect_bus(settings, l1s, slices[0])
    else:
        _connect_network(settings, l1s, slices)


def connect(name, one, other, latency):
    """A link between two (component, port); latency in picoseconds."""
    sst.Link(name).connect((*one, f"{latency}ps"), (*other, f"{latency}ps"))


def _cache(settings, name, size, ways, latency, mshrs):
    cache = sst.Component(name, "memHierarchy.Cache")
    cache.addParams(
        {
            "cache_frequency": settings.frequency,
            "cache_line_size": settings.numbers["line"],
            "cache_size": f"{size}B",
            "associativity": ways,
            "access_latency_cycles": latency,
            "mshr_num_entries": mshrs,
            "mshr_latency_cycles": 1,
            "coherence_protocol": "MESI",
            "replacement_policy": "lru",
        }
    )
    return cache


def _l1(settings, frontend, core):
    numbers = settings.numbers
    # Its lookup begins in the cycle after the core's request.
    cache = _cache(
        settings,
        f"l1_{core}",
        numbers["l1_size"],
        numbers["l1_ways"],
        numbers["lat_l1"] - 1,
        settings.figures["l1_mshrs"],
    )
    cache.addParam("L1", 1)
    memory = frontend.setSubComponent("memory", "memHierarchy.standardInterface", core)
    connect(f"core_{core}", (memory, "lowlink"), (cache, "highlink"), settings.period // 4)
    return cache


def _slice(settings, number):
    figures = settings.figures
    cache = _cache(
        settings,
        f"slice_{number}",
        figures["slice_size"],
        figures["slice_ways"],
        figures["lat_slice"],
        figures["slice_mshrs"],
    )
    if figures["slices"] > 1:
        cache.addParams({"num_cache_slices": figures["slices"], "slice_id": number})
    return cache


def _memory(settings, number, count):
    """A memory controller that has every `count`th line."""
    memory = sst.Component(f"memory_{number}", "memHierarchy.MemController")
    memory.addParams(
        {
            "clock": settings.frequency,
            "backing": "none",
            **address_range(settings, number, count),
        }
    )
    backend = memory.setSubComponent("backend", "memHierarchy.simpleMem")
    size = settings.lines * settings.numbers["line"]
    backend.addParams(
        {
            "access_time": f"{settings.figures['lat_memory_access'] * settings.period}ps",
            "mem_size": f"{size}B",
        }
    )
    return memory


def address_range(settings, number, count):
    """Parameters of a part that has every `count`th line, from line `number`."""
    line = settings.numbers["line"]
    size = settings.lines * line
    if count == 1:
        return {"addr_range_start": 0, "addr_range_end": size - 1}
    return {
        "addr_range_start": number * line,
        "addr_range_end": size - 1,
        "interleave_size": f"{line}B",
        "interleave_step": f"{count * line}B",
    }


def _connect_bus(settings, l1s, shared):
    """A transfer takes bus_latency cycles; any number of them go at once, so none waits."""
    quarter = settings.period // 4
    bus = sst.Component("bus", "memHierarchy.Bus")
    # It works twice in a cycle of its frequency, hence also half a cycle after the caches.
    bus.addParams({"bus_frequency": settings.frequency, "drain_bus": 1})
    far = quarter + (settings.figures["bus_latency"] - 1) * settings.period
    for core, l1 in enumerate(l1s):
        connect(f"l1_{core}_bus", (l1, "lowlink"), (bus, f"highlink{core}"), quarter)
    connect("bus_shared", (bus, "lowlink0"), (shared, "highlink"), far)
    connect("shared_memory", (shared, "lowlink"), (_memory(settings, 0, 1), "highlink"), quarter)


def _connect_network(settings, l1s, slices):
    nodes, count = settings.nodes, settings.figures["memory_controllers"]
    network = Network(settings)
    for core, l1 in enumerate(l1s):
        network.attach(
            l1.setSubComponent("lowlink", "memHierarchy.MemNIC"), 1, settings.place[core]
        )
    for number, cache in enumerate(slices):
        nic = cache.setSubComponent("highlink", "memHierarchy.MemNIC")
        network.attach(nic, 2, (2 * number + 1) * nodes // (2 * len(slices)))
    for number in range(count):
        directory = sst.Component(f"directory_{number}", "memHierarchy.DirectoryController")
        directory.addParams(
            {
                "clock": settings.frequency,
                "cache_line_size": settings.numbers["line"],
                "coherence_protocol": "MESI",
                "access_latency_cycles": settings.figures["lat_directory"],
                "entry_cache_size": settings.lines,  # all: entries are never fetched from memory
                **address_range(settings, number, count),
            }
        )
        nic = directory.setSubComponent("highlink", "memHierarchy.MemNIC")
        network.attach(nic, 3, network.edge(number, count))
        memory = _memory(settings, number, count)
        connect(
            f"directory_{number}_memory",
            (directory, "lowlink"),
            (memory, "highlink"),
            settings.period // 4,
        )
    network.build()
