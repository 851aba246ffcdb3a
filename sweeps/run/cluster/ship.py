"""What nodes without the tree are sent: what a job starts from, the tree, and programs."""

import base64
import hashlib
import io
import sys
import tarfile
import zlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from results.children import STARTER
from results.paths import ROOT, WORK
from sweeps.programs import Binary
from sweeps.run.cluster.node import boot, guard
from sweeps.support.paths import ENGINE_PLUGIN, OWN_MACHINES

_BOOT = "lockcross_boot"  # the module boot's name on a node
# What cells need of the tree; engines take digests of their sources.
_PARTS = tuple(
    "sweeps results/store lockimpl workloads qemu-timing/src gem5-configs sst-configs".split()
)
_FILES = tuple(f"results/{name}.py" for name in ("__init__", "children", "errors", "paths"))
# So Parsl's workers find its function there.
boot.run.__module__ = _BOOT
sys.modules[_BOOT] = boot
_CERTIFICATES = ("client.key_secret", "server.key_secret")  # Parsl reads both


class Tree(NamedTuple):
    """The tree, packed, and the digest of that."""

    digest: str
    data: bytes


def kit(certificates: Path) -> str:
    """What a job starts from, as text: the module, the guard, and the keys of this session."""
    files = {f"{_BOOT}.py": Path(boot.__file__), "guard.py": Path(guard.__file__)}
    files |= {f"certificates/{name}": certificates / name for name in _CERTIFICATES}
    return base64.b64encode(_archive(files.items())).decode()


@cache
def tree() -> Tree:
    """The tree as cells need it, with what was built of it and users' own machines."""
    below = [path for part in _PARTS for path in sorted((ROOT / part).rglob("*"))]
    sources = [path for path in below if path.is_file() and "__pycache__" not in path.parts]
    sources += [ROOT / name for name in _FILES]
    built = [ENGINE_PLUGIN, STARTER, *sorted(OWN_MACHINES.glob("*.toml"))]
    files = [(str(path.relative_to(ROOT)), path) for path in sources]
    files += [(str(path.relative_to(WORK)), path) for path in built]
    data = _archive(files)
    return Tree(hashlib.sha256(data).hexdigest(), data)


def _archive(files: Iterable[tuple[str, Path]]) -> bytes:
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


def packed(binaries: Iterable[Binary]) -> dict[str, bytes]:
    """Programs as they are sent with a chunk, compressed, by digest."""
    return {binary.digest: zlib.compress(binary.path.read_bytes()) for binary in binaries}
