"""Downloads: the bytes at an address, within limits of size and time."""

import re
import sys
from collections.abc import Callable
from concurrent.futures import Future, wait
from io import BytesIO
from threading import Thread

from rbmbench.base.errors import DataError

__all__ = ["NotThereError", "download", "is_address", "shown_place"]

# Seconds until a connection, and then until the next bytes.
TIMEOUT = (10, 30)
# Seconds that any download may take, and bytes a second that a server must send over a download as a whole.
PATIENCE = 60.0
SLOWEST = 10_000.0


class NotThereError(DataError):
    """A place that does not have the file, or cannot be reached."""


def is_address(place) -> bool:
    """Tell whether a place is an address and not a path."""
    return str(place).startswith(("http://", "https://"))


def shown_place(place: str) -> str:
    """Return a place as it may be shown: without the user and password of an address."""
    return re.sub(r"(?<=//)[^/@]*@", "", place) if is_address(place) else place


def download(address: str, name: str, limit: int) -> bytes:
    """Return the bytes at an address, with a progress bar if there is a terminal to see it.

    Parameters
    ----------
    address : str
        An http or https address.
    name : str
        What the bar is called.
    limit : int
        Most bytes to take.

    Raises
    ------
    NotThereError
        If the address cannot be reached, has no such file, cuts it short, or takes too long.
    DataError
        If there are more bytes.
    """
    import requests
    from urllib3.exceptions import ReadTimeoutError

    where, seconds = shown_place(address), PATIENCE + limit / SLOWEST
    buffer = _Bounded(limit, where)
    try:
        if not _done_in_time(lambda: _transfer(address, buffer, name, limit), seconds):
            raise NotThereError(f"{where}: too slow, not done after {seconds:.0f} s")
    except requests.HTTPError as error:
        raise NotThereError(f"{where}: HTTP status {error.response.status_code}") from None
    except requests.Timeout:
        raise NotThereError(f"{where}: no answer in time") from None
    except requests.TooManyRedirects:
        raise NotThereError(f"{where}: redirected in circles") from None
    except requests.exceptions.ChunkedEncodingError:
        raise NotThereError(f"{where}: the download was cut short") from None
    except requests.RequestException as error:
        silent = error.args and isinstance(error.args[0], ReadTimeoutError)
        what = "no answer in time" if silent else f"no connection ({type(error).__name__})"
        raise NotThereError(f"{where}: {what}") from None
    return buffer.getvalue()


def _done_in_time(work: Callable[[], None], seconds: float) -> bool:
    """Do some work, and tell whether it was done after so many seconds; raise what it raised.

    The time limits of requests are for each single wait: a server that sends a byte now and then keeps within them for
    ever. What is not done is left to a thread that ends with the process.
    """
    future: Future = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    Thread(target=run, daemon=True).start()
    wait([future], seconds)
    return future.done() and future.result() is None


def _transfer(address: str, buffer: BytesIO, name: str, limit: int) -> None:
    """Write the bytes at an address into a buffer."""
    import pooch
    from tqdm import tqdm

    has_reader = sys.stderr.isatty()
    with tqdm(desc=name, total=limit, unit="B", unit_scale=True, disable=not has_reader) as bar:
        downloader = pooch.HTTPDownloader(
            progressbar=bar if has_reader else False,
            chunk_size=1 << 16,
            timeout=TIMEOUT,
            headers={"Accept-Encoding": "identity"},
            hooks={"response": _as_stored},
        )
        downloader(address, buffer, None)


def _as_stored(response, **_) -> None:
    """Keep requests from unpacking a .gz file that the server labels as compressed for the way."""
    response.raw.headers.pop("Content-Encoding", None)


class _Bounded(BytesIO):
    """A buffer that refuses more than a number of bytes."""

    def __init__(self, limit: int, where: str):
        super().__init__()
        self._limit, self._where = limit, where

    def write(self, chunk) -> int:
        """Append, or raise a DataError if that would be too much."""
        if self.tell() + len(chunk) > self._limit:
            raise DataError(f"{self._where}: more than the {self._limit} bytes expected")
        return super().write(chunk)
