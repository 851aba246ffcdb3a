"""What nodes without the tree are sent: what a job starts from, the tree, and programs."""

import base64
import hashlib
import importlib.util
import io
import sys
import tarfile
import zlib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

from results.paths import ROOT, WORK
from sweeps.run.work import Work
from sweeps.support.paths import ENGINE_PLUGIN, OWN_MACHINES, STARTER

_BOOT = "lockcross_boot"  # the module's name on a node
_HERE = Path(__file__).parent / "node"
# What cells need of the tree; engines take digests of their sources.
_PARTS = ("sweeps", "results/store", "lockimpl", "workloads", "qemu-timing/src",
          "gem5-configs", "sst-configs")  # fmt: skip
_FILES = ("results/__init__.py", "results/errors.py", "results/paths.py")
_CERTIFICATES = ("client.key_secret", "server.key_secret")  # Parsl reads both


@dataclass(frozen=True)
class Archive:
    """The tree, and its digest."""

    digest: str
    data: bytes


@cache
def boot() -> ModuleType:
    """boot.py under the name that it has on nodes, so that Parsl's workers find it there."""
    spec = importlib.util.spec_from_file_location(_BOOT, _HERE / "boot.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[_BOOT] = module
    spec.loader.exec_module(module)
    return module


def kit(certificates: Path) -> str:
    """What a job starts from, as text: the module, the guard, and the keys of this session."""
    files = {f"{_BOOT}.py": _HERE / "boot.py", "guard.py": _HERE / "guard.py"}
    files |= {f"certificates/{name}": certificates / name for name in _CERTIFICATES}
    return base64.b64encode(_packed(files.items())).decode()


@cache
def tree() -> Archive:
    """The tree as cells need it, with what was built of it and users' own machines."""
    data = _packed(_of_the_tree())
    return Archive(hashlib.sha256(data).hexdigest(), data)


def _of_the_tree() -> Iterator[tuple[str, Path]]:
    for part in _PARTS:
        for path in sorted((ROOT / part).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield str(path.relative_to(ROOT)), path
    for name in _FILES:
        yield name, ROOT / name
    for path in (ENGINE_PLUGIN, STARTER, *sorted(OWN_MACHINES.glob("*.toml"))):
        yield str(path.relative_to(WORK)), path


def _packed(files: Iterable[tuple[str, Path]]) -> bytes:
    """A compressed archive; the same files give the same bytes."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, path in files:
            entry = tarfile.TarInfo(name)
            data = path.read_bytes()
            entry.size, entry.mode = len(data), 0o700
            tar.addfile(entry, io.BytesIO(data))
    # Not gzip's own format, which has the time in it.
    pack = zlib.compressobj(wbits=31)
    return pack.compress(archive.getvalue()) + pack.flush()


class Programs:
    """The programs that nodes have been sent."""

    def __init__(self) -> None:
        self._sent: set[str] = set()

    def for_chunk(self, works: Iterable[Work], again: Collection[str] = ()) -> dict[str, bytes]:
        """The programs to be sent with a chunk, by digest: those that no node has had, and those of
        the cells `again` (by identity), which a node was found to lack."""
        new = {
            work.binary.digest: work.binary.path
            for work in works
            if work.identity in again or work.binary.digest not in self._sent
        }
        self._sent |= new.keys()
        return {digest: zlib.compress(path.read_bytes()) for digest, path in new.items()}
