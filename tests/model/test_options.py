"""The plugin's table of options, as machine files use it."""

import pytest

from sweeps.model.axes import MAX_LATENCY
from sweeps.model.machine import Charges, Core, Memory, Ordering, OutOfOrder, about, options

TABLES = [(Core, ""), (OutOfOrder, ""), (Ordering, ""), (Memory, ""), (Charges, "charge_")]


def test_every_option_is_read() -> None:
    """As many as entries stand in the file; no machine file gives the rest."""
    given = {prefix + name for table, prefix in TABLES for name in table.model_fields}
    left = {name for name in options() if name not in given}
    fences = {name for name in left if name.startswith("fence_")}
    assert left - fences == {"out_of_order", "cas_success", "cas_failure", "rmw", "seed"}
    assert all(one.low <= one.default <= one.high for one in options().values())


def test_a_latency_that_can_be_set_has_the_plugins_bound() -> None:
    latencies = ("cas_success", "rmw", "charge_stop_running")
    assert {options()[name].high for name in latencies} == {MAX_LATENCY}


@pytest.mark.parametrize(("table", "prefix"), TABLES)
def test_a_figure_has_the_bounds_of_its_option(table: type[Core], prefix: str) -> None:
    for name in table.model_fields:
        option, said = options()[prefix + name], about(table, name)
        assert (said["low"], said["high"]) == (option.low, option.high)
        assert said["power_of_two"] == option.power_of_two
