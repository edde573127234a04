# SPDX-License-Identifier: BSD-3-Clause
"""Downloads by HTTP, with limits of size and time."""

import re
from io import BytesIO
from typing import Any

from rbmbench.base.errors import DataError

# Seconds to wait for a connection, and for the next bytes.
TIMEOUT = (10, 30)
# Seconds that any download may take, and the bytes per second that a longer one must reach on average.
PATIENCE = 60.0
SLOWEST = 10_000.0
# Bytes that are written at a time.
PART = 1 << 16
# Seconds to wait when only the headers are requested.
HEADERS_TIMEOUT = 5


class UnavailableError(DataError):
    """An address that does not have the file, or cannot be reached."""


def is_address(place) -> bool:
    """Return whether a place is an address, not a path."""
    return str(place).startswith(("http://", "https://"))


def without_credentials(place: str) -> str:
    """Return a place without the user name and password of an address."""
    return re.sub(r"(?<=//)[^/@]*@", "", place) if is_address(place) else place


def download(address: str, name: str, limit: int) -> bytes:
    """Return the bytes at an address, at most ``limit``; a terminal shows a progress bar labelled ``name``.

    Raises
    ------
    UnavailableError
        If the address cannot be reached, does not have the file, sends an invalid answer, or takes too long.
    DataError
        If it sends more than ``limit`` bytes.
    """
    from multiprocessing import TimeoutError as TooSlowError
    from multiprocessing.pool import ThreadPool

    from tqdm import tqdm

    where, seconds = without_credentials(address), PATIENCE + limit / SLOWEST
    buffer = _Bounded(limit, where)
    try:
        # The timeouts of requests limit each wait, not their sum. A thread of a pool ends with the process.
        with tqdm(desc=name, unit="B", unit_scale=True, disable=None) as bar, ThreadPool(1) as pool:
            pool.apply_async(_receive, (address, buffer, bar)).get(seconds)
    except DataError:
        raise
    except TooSlowError:
        raise UnavailableError(f"{where}: too slow, not done after {seconds:.0f} s") from None
    except Exception as error:  # answers can be malformed in more ways than requests has errors for
        raise UnavailableError(f"{where}: {_reason(error)}") from None
    return buffer.getvalue()


def _receive(address: str, buffer: BytesIO, bar: Any) -> None:
    """Write the bytes at an address to a buffer, and show in a progress bar how many there are."""
    import requests

    options = {"headers": {"Accept-Encoding": "identity"}, "hooks": {"response": _as_stored}}
    with requests.get(address, stream=True, timeout=TIMEOUT, **options) as response:
        response.raise_for_status()
        bar.total = int(response.headers.get("Content-Length", 0)) or None
        for part in response.iter_content(PART):
            buffer.write(part)
            bar.update(len(part))


def answers(address: str) -> bool:
    """Return whether an address has a file. Only its headers are requested."""
    import requests

    try:
        return requests.head(address, allow_redirects=True, timeout=HEADERS_TIMEOUT).status_code == 200
    except Exception:  # as for a download
        return False


def _as_stored(response, **_) -> None:
    """Keep requests from decompressing a .gz file which the server labels as compressed for the transfer."""
    response.raw.headers.pop("Content-Encoding", None)


def _reason(error: Exception) -> str:
    """Return in a few words why a download failed."""
    from requests import exceptions
    from urllib3.exceptions import ReadTimeoutError

    if isinstance(error, exceptions.HTTPError):
        return f"HTTP status {error.response.status_code}"
    if isinstance(error, exceptions.Timeout) or isinstance(next(iter(error.args), None), ReadTimeoutError):
        return "no answer in time"
    if isinstance(error, exceptions.TooManyRedirects):
        return "redirected in circles"
    if isinstance(error, exceptions.ChunkedEncodingError):
        return "the download was cut short"
    what = "no connection" if isinstance(error, exceptions.ConnectionError) else "no valid answer"
    return f"{what} ({type(error).__name__})"


class _Bounded(BytesIO):
    """A buffer that refuses more than ``limit`` bytes."""

    def __init__(self, limit: int, where: str):
        super().__init__()
        self._limit, self._where = limit, where

    def write(self, chunk) -> int:
        """Append ``chunk``; raise a DataError if that exceeds the limit."""
        if self.tell() + len(chunk) > self._limit:
            raise DataError(f"{self._where}: more than the {self._limit} bytes expected")
        return super().write(chunk)
