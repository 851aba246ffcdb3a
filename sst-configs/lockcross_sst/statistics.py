"""Which of SST's statistics are kept: those that README.md explains."""

import sst

_CACHE = (
    "CacheHits", "CacheMisses", "TotalEventsReceived", "GetS_recv", "GetX_recv", "Write_recv",
    "PutS_recv", "PutE_recv", "PutM_recv", "Inv_recv", "FetchInv_recv", "FetchInvX_recv",
    "AckInv_recv", "FetchResp_recv", "FetchXResp_recv",
)  # fmt: skip
KEPT = {
    "lockcross.frontend": ("read_cycles", "write_cycles", "touches", "touches_missed"),
    "memHierarchy.Cache": (*_CACHE, "TotalEventsReplayed", "MSHR_occupancy"),
    "memHierarchy.DirectoryController": ("GetS_recv", "GetX_recv", "PutM_recv"),
    "memHierarchy.MemController": (
        "requests_received_GetS", "requests_received_GetX", "requests_received_PutM",
        "requests_received_Write",
    ),
    "merlin.hr_router": (
        "send_packet_count", "send_bit_count", "output_port_stalls", "xbar_stalls",
    ),
}  # fmt: skip


def collect(settings):
    """Sums, written when the simulation ends, as comma-separated values."""
    sst.setStatisticLoadLevel(4)
    sst.setStatisticOutput("sst.statOutputCSV")
    sst.setStatisticOutputOptions({"filepath": settings.files["statistics"], "separator": ","})
    for kind, names in KEPT.items():
        for name in names:
            sst.enableStatisticForComponentType(kind, name, {"type": "sst.AccumulatorStatistic"})
