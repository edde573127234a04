# SPDX-License-Identifier: BSD-3-Clause
"""Small disks of single tests: file systems in memory, visible only to their processes."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


class Disk:
    """A file system in memory, mounted in the mount namespace of a shell."""

    def __init__(self, shell: subprocess.Popen, place: Path):
        self._shell, self._place = shell, place
        # Path into the namespace of the shell for processes of the same user. Programs that resolve the links of
        # a path, such as kernels of notebooks, fail there; they are started by ``within``.
        self.folder = Path(f"/proc/{shell.pid}/root{place}")
        self.within = ["nsenter", f"--target={shell.pid}", "--mount"]
        self.within += [] if os.geteuid() == 0 else ["--user", "--preserve-credentials"]

    def run(self, command: str) -> str:
        """Run a command in the namespace; return its last line, "done" if it succeeded."""
        self._shell.stdin.write(f"{command} 2>&1 && echo done || echo failed\n")
        self._shell.stdin.flush()
        return self._shell.stdout.readline().strip()

    def remount(self, options: str) -> None:
        """Change the options of the file system."""
        # With the source, mount does not add the earlier options, which may not be set in a user namespace.
        assert self.run(f"mount -o remount,{options} tmpfs '{self._place}'") == "done"


@contextmanager
def small_disk(place: Path, size: str) -> Iterator[Disk]:
    """Yield a disk of a size such as "512k"; skip the test if none can be mounted."""
    if not shutil.which("unshare"):
        pytest.skip("needs a disk of its own: there is no unshare here")
    as_root = [] if os.geteuid() == 0 else ["--map-root-user"]
    shell = subprocess.Popen(
        ["unshare", *as_root, "--mount", "sh"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        disk = Disk(shell, place)
        place.mkdir(parents=True, exist_ok=True)
        answer = disk.run(f"mount -t tmpfs -o size={size} tmpfs '{place}'") if shell.poll() is None else "no shell"
        if answer != "done" or not os.access(disk.folder, os.W_OK):
            pytest.skip(f"needs a disk of its own, which may not be mounted here: {answer}")
        yield disk
    except BrokenPipeError:
        pytest.skip("needs a disk of its own: this system allows no mount namespaces")
    finally:
        shell.kill()
        shell.communicate()
