"""What the command line asks of the measurement."""

from sweeps.engines.native.host import model
from sweeps.engines.native.measure.machine_file import Origin, document
from sweeps.engines.native.measure.measure import measure

__all__ = ["Origin", "document", "measure", "model"]
