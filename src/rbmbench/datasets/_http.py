# SPDX-License-Identifier: BSD-3-Clause
"""Downloads by HTTP, with limits of size and time."""

import re
from typing import TYPE_CHECKING

from rbmbench.base.errors import DataError

if TYPE_CHECKING:
    from tqdm import tqdm

TIMEOUT = 10, 30  # seconds to wait for a connection, and for the next bytes
PATIENCE = 60.0  # seconds that any download may take
SLOWEST = 10_000.0  # bytes per second that a longer one must reach on average
PART = 1 << 16  # bytes that are read at a time


class UnavailableError(DataError):
    """An address that does not have the file, or cannot be reached."""


def is_address(place) -> bool:
    """Return whether a place is an address, not a path."""
    return str(place).startswith(("http://", "https://"))


def without_credentials(place: str) -> str:
    """Return a place without the user name and password of an address."""
    return re.sub(r"(?<=//)[^/?#]*@", "", place) if is_address(place) else place


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
    try:
        # The timeouts of requests limit each wait, not their sum. A thread of a pool ends with the process.
        with tqdm(desc=name, unit="B", unit_scale=True, disable=None) as bar, ThreadPool(1) as pool:
            return pool.apply_async(_received, (address, limit, bar)).get(seconds)
    except DataError:
        raise DataError(f"{where}: more than the {limit} bytes expected") from None
    except TooSlowError:
        raise UnavailableError(f"{where}: too slow, not done after {seconds:.0f} s") from None
    except Exception as error:  # answers can be malformed in more ways than requests has errors for
        raise UnavailableError(f"{where}: {_reason(error)}") from None


def _received(address: str, limit: int, bar: "tqdm") -> bytes:
    import requests

    def as_stored(response, **_) -> None:
        # Some servers label .gz files as compressed for the transfer; requests would decompress them.
        response.raw.headers.pop("Content-Encoding", None)

    content, options = bytearray(), {"headers": {"Accept-Encoding": "identity"}, "hooks": {"response": as_stored}}
    with requests.get(address, stream=True, timeout=TIMEOUT, **options) as response:
        response.raise_for_status()
        bar.total = int(response.headers.get("Content-Length", 0)) or None
        for chunk in response.iter_content(PART):
            content += chunk
            bar.update(len(chunk))
            if len(content) > limit:
                raise DataError
    return bytes(content)


def _reason(error: Exception) -> str:
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
