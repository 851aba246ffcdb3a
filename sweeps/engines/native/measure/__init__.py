"""The host described as a machine: the part of the host's engine behind `lockcross measure`."""

from sweeps.engines.native.host import model
from sweeps.engines.native.measure.machine_file import document
from sweeps.engines.native.measure.whole import measure, measure_stops

__all__ = ["document", "measure", "measure_stops", "model"]
