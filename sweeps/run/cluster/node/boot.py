"""What a node without the tree starts from: it unpacks the tree that the driver sends, once a node,
and calls a function in it.

Stands alone on the node, as module lockcross_boot: it imports nothing of Lockcross by itself.
"""

import hashlib
import importlib
import io
import os
import shutil
import sys
import tarfile
import tempfile
import time
from pathlib import Path

_WAIT_S = 5.0  # for another worker of the node that has asked


def run(digest: str, archive: bytes | None, function: str, message: bytes) -> bytes | None:
    """Calls `module:function` of the tree with a message. None: the tree is not here yet, and is to
    be sent along."""
    folder = Path(os.environ["LOCKCROSS_NODE"]) / f"tree-{digest[:16]}"
    if not folder.exists():
        if archive is not None:
            _unpack(digest, archive, folder)
        elif not _sent_to_another(folder):
            return None
    if str(folder) not in sys.path:
        os.environ["LOCKCROSS_WORK"] = str(folder)
        sys.path.insert(0, str(folder))
    module, name = function.split(":")
    answer: bytes = getattr(importlib.import_module(module), name)(message)
    return answer


def _unpack(digest: str, archive: bytes, folder: Path) -> None:
    if hashlib.sha256(archive).hexdigest() != digest:
        raise OSError("the tree was damaged on its way to the node")
    new = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".new-"))
    try:
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            tar.extractall(new)
        new.rename(folder)
    except OSError:
        if not folder.exists():  # else another worker was faster
            raise
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _sent_to_another(folder: Path) -> bool:
    """Whether the tree comes while this worker waits: the first that lacks it asks, the others
    wait a little."""
    try:
        folder.with_suffix(".asked").touch(exist_ok=False)
    except FileExistsError:
        end = time.monotonic() + _WAIT_S
        while time.monotonic() < end:
            if folder.exists():
                return True
            time.sleep(0.1)
    return False
