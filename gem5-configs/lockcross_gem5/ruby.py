"""Ruby's MESI_Two_Level in place of the classic caches: private L1 caches, and a shared L2 that
knows who has a line. Requests and answers are messages, so another core's take time on their way.
"""

from m5 import objects
from m5.defines import buildEnv

from lockcross_gem5.figures import PATHS, whole_number

_PROTOCOL = "MESI_Two_Level"
_PATH = PATHS["ruby"]
_NETWORKS = 3  # virtual ones: requests, responses, and what the L2 passes on with unblocks


def is_built():
    """Whether this gem5 has the protocol."""
    return buildEnv.get("PROTOCOL") == _PROTOCOL


def connect(system, figures):
    """Puts caches, network and memory behind the cores. Raises ValueError for a missing figure."""
    line = whole_number(figures, "line")
    ruby = objects.RubySystem(number_of_virtual_networks=_NETWORKS, block_size_bytes=line)
    # Its place is known before anything names it: parts look for it on their way up.
    system.ruby, system.pio_bus = ruby, objects.IOXBar()
    network = objects.SimpleNetwork(number_of_virtual_networks=_NETWORKS, ruby_system=ruby)
    network.netifs = []
    ruby.network = network
    ruby.l1 = [_l1(system, n, cpu, figures, line) for n, cpu in enumerate(system.cpu)]
    ruby.l2 = _l2(ruby, figures, line)
    ruby.directory = _directory(system, figures)
    ruby.num_of_sequencers = len(system.cpu)
    controllers = [*ruby.l1, ruby.l2, ruby.directory]
    network.routers = [objects.Switch(router_id=0)]
    network.int_links = []
    network.ext_links = [
        objects.SimpleExtLink(link_id=number, ext_node=one, int_node=network.routers[0])
        for number, one in enumerate(controllers)
    ]
    network.setup_buffers()
    ruby.proxy = objects.RubyPortProxy(ruby_system=ruby)
    system.system_port = ruby.proxy.in_ports


def _with_buffers(controller, network, sends, receives, own):
    """The controller, with its queues: to and from the network, and those to its own side."""
    for name in sends:
        setattr(controller, name, objects.MessageBuffer(out_port=network.in_port))
    for name in receives:
        setattr(controller, name, objects.MessageBuffer(in_port=network.out_port))
    for name in own:
        setattr(controller, name, objects.MessageBuffer())
    return controller


def _cache(size, ways, line, **more):
    return objects.RubyCache(
        size=f"{size}B", assoc=ways, start_index_bit=line.bit_length() - 1, **more
    )


def _l1(system, number, cpu, figures, line):
    ruby = system.ruby
    size, ways = whole_number(figures, "l1_size"), whole_number(figures, "l1_ways")
    data = _cache(size, ways, line)
    controller = objects.L1Cache_Controller(
        version=number,
        ruby_system=ruby,
        L1Icache=_cache(128 * 1024, 8, line, is_icache=True),  # as with the classic caches
        L1Dcache=data,
        l2_select_num_bits=0,
        mandatory_queue_latency=max(1, whole_number(figures, "lat_l1") - _PATH["lat_l1"]),
        l1_request_latency=1,
        l1_response_latency=whole_number(figures, "lat_l1"),
        prefetcher=objects.RubyPrefetcher(),
        enable_prefetch=False,
        send_evictions=True,  # the core's load queue looks at them
    )
    sequencer = objects.RubySequencer(version=number, dcache=data, ruby_system=ruby)
    controller.sequencer = sequencer
    sequencer.connectIOPorts(system.pio_bus)
    cpu.icache_port = cpu.dcache_port = sequencer.in_ports
    cpu.createInterruptController()
    for interrupts in cpu.interrupts:
        if hasattr(interrupts, "pio"):  # x86
            interrupts.pio = sequencer.interrupt_out_port
            interrupts.int_requestor = sequencer.in_ports
            interrupts.int_responder = sequencer.interrupt_out_port
    return _with_buffers(
        controller,
        ruby.network,
        ("requestFromL1Cache", "responseFromL1Cache", "unblockFromL1Cache"),
        ("requestToL1Cache", "responseToL1Cache"),
        ("mandatoryQueue", "optionalQueue"),
    )


def _l2(ruby, figures, line):
    # It looks a line up before it answers, and before it asks another L1 to. What comes from memory
    # is on its way to the L1 for as long.
    latency = max(1, whole_number(figures, "lat_l2") - _PATH["lat_l2"])
    size, ways = whole_number(figures, "l2_size"), whole_number(figures, "l2_ways")
    controller = objects.L2Cache_Controller(
        version=0,
        ruby_system=ruby,
        L2cache=_cache(size, ways, line),
        l2_request_latency=1,
        l2_response_latency=latency,
        to_l1_latency=latency,
    )
    return _with_buffers(
        controller,
        ruby.network,
        ("DirRequestFromL2Cache", "L1RequestFromL2Cache", "responseFromL2Cache"),
        ("unblockToL2Cache", "L1RequestToL2Cache", "responseToL2Cache"),
        (),
    )


def _directory(system, figures):
    controller = objects.Directory_Controller(
        version=0,
        ruby_system=system.ruby,
        addr_ranges=system.mem_ranges,
        directory=objects.RubyDirectoryMemory(),
        directory_latency=1,
    )
    l2, memory = whole_number(figures, "lat_l2"), whole_number(figures, "lat_memory")
    latency = max(1, memory - l2 - _PATH["lat_memory"]) * 1000 / figures["clock_mhz"]
    system.memory = objects.SimpleMemory(range=system.mem_ranges[0], latency=f"{latency}ns")
    controller.memory_out_port = system.memory.port
    return _with_buffers(
        controller,
        system.ruby.network,
        ("responseFromDir",),
        ("requestToDir", "responseToDir"),
        ("requestToMemory", "responseFromMemory"),
    )
