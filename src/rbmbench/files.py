"""Write files whole or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rbmbench.errors import ResultsError

__all__ = ["replaced"]


@contextmanager
def replaced(path: str | os.PathLike) -> Iterator[Path]:
    """Give a temporary name beside ``path``; when the block ends well, rename it to ``path``.

    A reader sees the old file or the new one, never a part. The folder is made if need be.

    Raises
    ------
    ResultsError
        If the folder or the file cannot be written.
    """
    path = Path(path)
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=path.suffix, dir=path.parent)
        os.close(handle)
        temporary = Path(name)
        yield temporary
        # mkstemp makes private files; results are for everyone the folder is for.
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        os.replace(temporary, path)
    except OSError as error:
        raise ResultsError(f"{path}: cannot be written ({error.strerror or error})") from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
