"""The memory system: private L1s, slices of a shared inclusive cache, memory; what connects them.

All clocks are the cores'. Links of a quarter of a cycle bring what a part sends in one cycle to the
next part's following one (element/frontend.h).
"""

import sst

from lockcross_sst.network import Network, connect


def build(settings):
    """Builds everything that `settings` describes. Its components are found by name later."""
    numbers = settings.numbers
    frontend = _component(
        "frontend",
        "lockcross.frontend",
        period=settings.period,
        lines=settings.lines,
        **{name: numbers[name] for name in ("cores", "line", "lat_l1", "oldest_request")},
        lat_miss=numbers["lat_l1"] + numbers["lat_slice"],
        guest=len(settings.guest),
        **{f"guest{n}": word for n, word in enumerate(settings.guest)},
        **{name: settings.files[name] for name in ("guest_stdout", "guest_stderr", "record")},
    )
    l1s = []
    for core in range(numbers["cores"]):
        # Its lookup begins in the cycle after the core's request.
        cache = _cache(settings, f"l1_{core}", "l1", numbers["lat_l1"] - 1)
        cache.addParam("L1", 1)
        memory = frontend.setSubComponent("memory", "memHierarchy.standardInterface", core)
        ends = (memory, "lowlink"), (cache, "highlink")
        connect(f"core_{core}", *ends, settings.period // 4)
        l1s.append(cache)
    slices = []
    for number in range(count := numbers["slices"]):
        slices.append(_cache(settings, f"slice_{number}", "slice", numbers["lat_slice"]))
        if count > 1:
            slices[-1].addParams({"num_cache_slices": count, "slice_id": number})
    if settings.topology == "bus":
        _connect_bus(settings, l1s, slices[0])
    else:
        _connect_network(settings, l1s, slices)


def _component(name, kind, **parameters):
    component = sst.Component(name, kind)
    component.addParams(parameters)
    return component


def _cache(settings, name, kind, latency):
    """A cache with the figures of its kind: l1 or slice."""
    size, ways, mshrs = (settings.numbers[f"{kind}_{of}"] for of in ("size", "ways", "mshrs"))
    return _component(
        name,
        "memHierarchy.Cache",
        cache_frequency=settings.frequency,
        cache_line_size=settings.numbers["line"],
        cache_size=f"{size}B",
        associativity=ways,
        access_latency_cycles=latency,
        mshr_num_entries=mshrs,
        mshr_latency_cycles=1,
        coherence_protocol="MESI",
        replacement_policy="lru",
    )


def _lines(settings, number, count):
    """Parameters of a part that has every `count`th line, from line `number`."""
    line = settings.numbers["line"]
    lines = {"addr_range_start": number * line, "addr_range_end": settings.lines * line - 1}
    if count > 1:
        lines |= {"interleave_size": f"{line}B", "interleave_step": f"{count * line}B"}
    return lines


def _memory(settings, number, count):
    """A memory controller that has every `count`th line."""
    memory = _component(
        f"memory_{number}",
        "memHierarchy.MemController",
        clock=settings.frequency,
        backing="none",
        **_lines(settings, number, count),
    )
    access = settings.numbers["lat_memory_access"] * settings.period
    size = settings.lines * settings.numbers["line"]
    backend = memory.setSubComponent("backend", "memHierarchy.simpleMem")
    backend.addParams({"access_time": f"{access}ps", "mem_size": f"{size}B"})
    return memory


def _connect_bus(settings, l1s, shared):
    """A transfer takes bus_latency cycles; any number of them go at once, so none waits."""
    quarter = settings.period // 4
    # It works twice in a cycle of its frequency, hence also half a cycle after the caches.
    bus = _component("bus", "memHierarchy.Bus", bus_frequency=settings.frequency, drain_bus=1)
    far = quarter + (settings.numbers["bus_latency"] - 1) * settings.period
    for core, l1 in enumerate(l1s):
        connect(f"l1_{core}_bus", (l1, "lowlink"), (bus, f"highlink{core}"), quarter)
    connect("bus_shared", (bus, "lowlink0"), (shared, "highlink"), far)
    connect("shared_memory", (shared, "lowlink"), (_memory(settings, 0, 1), "highlink"), quarter)


def _connect_network(settings, l1s, slices):
    count = settings.numbers["memory_controllers"]
    network = Network(settings)
    for l1, node in zip(l1s, settings.place, strict=True):
        network.attach(l1.setSubComponent("lowlink", "memHierarchy.MemNIC"), 1, node)
    for number, cache in enumerate(slices):
        node = (2 * number + 1) * settings.nodes // (2 * len(slices))
        network.attach(cache.setSubComponent("highlink", "memHierarchy.MemNIC"), 2, node)
    for number in range(count):
        directory = _component(
            f"directory_{number}",
            "memHierarchy.DirectoryController",
            clock=settings.frequency,
            cache_line_size=settings.numbers["line"],
            coherence_protocol="MESI",
            access_latency_cycles=settings.numbers["lat_directory"],
            entry_cache_size=settings.lines,  # all: entries are never fetched from memory
            **_lines(settings, number, count),
        )
        nic = directory.setSubComponent("highlink", "memHierarchy.MemNIC")
        network.attach(nic, 3, network.edge(number, count))
        ends = (directory, "lowlink"), (_memory(settings, number, count), "highlink")
        connect(f"directory_{number}_memory", *ends, settings.period // 4)
    network.build()
