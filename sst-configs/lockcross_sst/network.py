"""The network on the chip: merlin's routers in a mesh or a ring, one at each node."""

import sst

# Of each buffer of a router's port and of a network interface: a few packets of a line each.
BUFFERED_PACKETS = 8
HEADER = 8  # bytes of a message beside its line

# merlin: a packet that comes into a router in a cycle leaves it in the next at the earliest.
LEAST_ROUTER = 1


class Network:
    """Interfaces are attached to nodes, then the routers are built around them."""

    def __init__(self, settings):
        self._settings, self._numbers = settings, settings.numbers
        self._ring = settings.topology == "ring"
        shape = [self._numbers["columns"], self._numbers["rows"]]
        self._shape = shape[:1] if self._ring else shape
        self._at = [[] for _ in range(settings.nodes)]
        wide = self._numbers["link_bytes"]
        flits = -(-(HEADER + self._numbers["line"]) // wide)  # of a packet
        self._bandwidth = f"{wide * 10**12 / settings.period:.0f}B/s"
        buffer = f"{BUFFERED_PACKETS * flits * wide}B"
        self._port = {
            "link_bw": self._bandwidth, "input_buf_size": buffer, "output_buf_size": buffer
        }  # fmt: skip

    def attach(self, nic, group, node):
        """Puts a network interface at a node. Groups talk to their neighbours by number."""
        nic.addParams({"group": group, "min_packet_size": f"{HEADER}B"})
        link_control = nic.setSubComponent("linkcontrol", "merlin.linkcontrol")
        link_control.addParams(self._port)
        link_control.enableStatistics(["send_bit_count"], {"type": "sst.AccumulatorStatistic"})
        self._at[node].append(link_control)

    def edge(self, number, count):
        """The node of one of `count` memory controllers: around the edge of a mesh, evenly."""
        columns, rows = self._numbers["columns"], self._numbers["rows"]
        around = list(range(columns))
        around += [y * columns + columns - 1 for y in range(1, rows)]
        if rows > 1:
            around += [(rows - 1) * columns + x for x in range(columns - 2, -1, -1)]
        if columns > 1:
            around += [y * columns for y in range(rows - 2, 0, -1)]
        return around[number * len(around) // count]

    def build(self):
        """The routers and their links. Call it when all is attached."""
        period = self._settings.period
        local = max(map(len, self._at))
        routers = [self._router(node, local) for node in range(len(self._at))]
        for node, link_controls in enumerate(self._at):
            for port, link_control in enumerate(link_controls, 2 * len(self._shape)):
                name = f"node_{node}_{port - 2 * len(self._shape)}"
                ends = (link_control, "rtr_port"), (routers[node], f"port{port}")
                connect(name, *ends, period // 4)
        # merlin's ports: up and down in each dimension, the first dimension first. A quarter less:
        # a packet is there before the next router's clock, not with it, and so passes that router
        # in one cycle, not in two.
        latency = self._numbers["lat_link"] * period - period // 4
        columns = self._shape[0]
        for node, router in enumerate(routers):
            ends = node % columns == columns - 1
            if not ends or self._ring:
                right = routers[node - columns + 1 if ends else node + 1]
                connect(f"right_{node}", (router, "port0"), (right, "port1"), latency)
            if node + columns < len(routers):
                below = routers[node + columns]
                connect(f"down_{node}", (router, "port2"), (below, "port3"), latency)

    def _router(self, node, local):
        passing = (self._numbers["lat_router"] - LEAST_ROUTER) * self._settings.period
        router = sst.Component(f"router_{node}", "merlin.hr_router")
        router.addParams(
            {
                "id": node,
                "num_ports": 2 * len(self._shape) + local,
                # merlin's mesh puts packets that turn in the first row on a second channel, which
                # is there only with a second virtual network. Otherwise they are lost.
                "num_vns": 1 if self._ring else 2,
                "flit_size": f"{self._numbers['link_bytes']}B",
                "xbar_bw": self._bandwidth,
                "input_latency": f"{passing}ps",
                "output_latency": "0ps",
                **self._port,
            }
        )
        topology = router.setSubComponent("topology", f"merlin.{'torus' if self._ring else 'mesh'}")
        shape = "x".join(map(str, self._shape))
        width = "x".join("1" for _ in self._shape)
        topology.addParams({"shape": shape, "width": width, "local_ports": local})
        return router


def connect(name, one, other, latency):
    """A link between two (component, port); latency in picoseconds."""
    sst.Link(name).connect((*one, f"{latency}ps"), (*other, f"{latency}ps"))
