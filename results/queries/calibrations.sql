-- Measured cycles of each operation, by engine, machine, ISA, flavour and set latencies
SELECT engine, machine, isa, flavour, cas_latency AS set_cas, fence_latency AS set_fence, op,
       round(cycles, 2) AS cycles, run_id, base_run_id
FROM calibrations ORDER BY engine, machine, isa, flavour, cas_latency, fence_latency, op;
