# SPDX-License-Identifier: BSD-3-Clause
"""The sources of this package as this process runs them, read at the import of the package.

Forked processes inherit them. Later edits of the files concern processes that start afterwards only.
"""

import hashlib
import os
from pathlib import Path

PACKAGE = Path(__file__).parents[1]


def _read() -> dict[str, bytes]:
    """Return the content of the package's Python files by their paths in it; without pathlib, which takes longer."""
    contents = {}
    for folder, folders, names in os.walk(PACKAGE):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(name for name in names if name.endswith(".py")):
            path = os.path.join(folder, name)
            with open(path, "rb", buffering=0) as file:
                contents[path[len(str(PACKAGE)) + 1 :].replace(os.sep, "/")] = file.read()
    return contents


IMPORTED = _read()


def are_changed() -> bool:
    """Return whether a file of the package has changed since the import; later imports may not match earlier ones."""
    try:
        return _read() != IMPORTED
    except OSError:  # removed in the meantime
        return True


def digest(*packages: str) -> str:
    """Return the sha256 of the imported sources of some subpackages, by default of all."""
    checksum = hashlib.sha256()
    for path, content in sorted(IMPORTED.items()):
        if not packages or path.partition("/")[0] in packages:
            checksum.update(f"{path} {len(content)} ".encode() + content)
    return checksum.hexdigest()
