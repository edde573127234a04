# SPDX-License-Identifier: BSD-3-Clause
"""Downloads from faulty servers: error messages, time limits and the cache."""

import hashlib
import os
import socket
import subprocess
import sys
import threading
from contextlib import suppress

import pytest

from rbmbench.base.errors import DataError
from rbmbench.datasets import _http
from rbmbench.datasets._downloads import File, Sources, fetch

CONTENT = b"the right bytes" * 1009
SHA256 = hashlib.sha256(CONTENT).hexdigest()
PAGE = b"\n<!DOCTYPE html><title>Please log in</title>"


class Server:
    """A server on this machine that answers every request by a script, until it is closed."""

    def __init__(self, script):
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._script, self.closed = script, threading.Event()
        self.address = f"http://127.0.0.1:{self._socket.getsockname()[1]}/set/a.bin"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=self._answer, args=self._socket.accept()[:1], daemon=True).start()

    def _answer(self, connection) -> None:
        # The client may disconnect at any time.
        with suppress(OSError), connection:
            connection.recv(10_000)
            self._script(self, connection)

    def close(self) -> None:
        self.closed.set()
        self._socket.close()


def response(status: str, body: bytes = b"", *headers: str, length: int | None = None) -> bytes:
    """Return the bytes of a response; ``length`` is its Content-Length, by default that of the body."""
    length = len(body) if length is None else length
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {length}", "Connection: close", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def sends(*parts):
    """Return a script that sends a response and disconnects."""
    return lambda _, connection: connection.sendall(response(*parts))


def redirects_to(location: str):
    """Return a script that redirects to a location."""
    return lambda _, connection: connection.sendall(response("302 Found", b"", f"Location: {location}"))


def sends_no_length(_, connection) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: many\r\nConnection: close\r\n\r\n" + CONTENT)


def redirects_to_itself(server, connection) -> None:
    connection.sendall(response("302 Found", b"", f"Location: {server.address}"))


def sends_a_part(_, connection) -> None:
    connection.sendall(response("200 OK", CONTENT[:9000], length=len(CONTENT)))


def sends_a_part_and_waits(server, connection) -> None:
    sends_a_part(server, connection)
    server.closed.wait()


def never_answers(server, _) -> None:
    server.closed.wait()


def sends_slowly(server, connection) -> None:
    connection.sendall(response("200 OK", length=len(CONTENT)))
    while not server.closed.wait(0.02):
        connection.sendall(b"x")


def sends_headers_slowly(server, connection) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    while not server.closed.wait(0.02):
        connection.sendall(b"X: y\r\n")


def sends_no_http(_, connection) -> None:
    connection.sendall(b"\0\1 no answer of this kind\r\n\r\n")


def disconnects(_, connection) -> None:
    pass


def wrong(content: bytes) -> str:
    return f"wrong checksum of a.bin: must be sha256 {SHA256}, got {hashlib.sha256(content).hexdigest()}"


FAULTS = {
    "page": (sends("200 OK", PAGE), wrong(PAGE) + " (a web page)"),
    "wrong bytes": (sends("200 OK", CONTENT[::-1]), wrong(CONTENT[::-1])),
    "nothing": (sends("200 OK"), wrong(b"")),
    "404": (sends("404 Not Found", PAGE), "HTTP status 404"),
    "circle": (redirects_to_itself, "redirected in circles"),
    "redirect to no address": (redirects_to("http://[::1"), "no valid answer (ValueError)"),
    "redirect to a file": (redirects_to("file:///etc/hostname"), "no valid answer (InvalidSchema)"),
    "no length": (sends_no_length, "no valid answer (ValueError)"),
    "cut": (sends_a_part, "the download was cut short"),
    "stalled": (sends_a_part_and_waits, "no answer in time"),
    "silent": (never_answers, "no answer in time"),
    "trickle": (sends_slowly, "too slow, not done after 0 s"),
    "trickle of headers": (sends_headers_slowly, "too slow, not done after 0 s"),
    "babble": (sends_no_http, "no connection (ConnectionError)"),
    "hung up": (disconnects, "no connection (ConnectionError)"),
}


@pytest.fixture
def serve():
    """Return a function that starts a server of a script."""
    servers = []

    def start(script) -> Server:
        servers.append(Server(script))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch):
    for variable in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "RBMBENCH_DATA_MIRROR"):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def shorten_time_limit(monkeypatch):
    """Return a function that shortens only the time limit of a fault: another might be reached first."""

    def shorten(fault: str, seconds: float = 0.4) -> None:
        if fault in ("stalled", "silent"):
            monkeypatch.setattr(_http, "TIMEOUT", (30, seconds))
        elif fault.startswith("trickle"):
            monkeypatch.setattr(_http, "PATIENCE", seconds)
            monkeypatch.setattr(_http, "SLOWEST", 1e9)

    return shorten


def declared(server: Server) -> File:
    return File(folder="set", name="a.bin", addresses=(server.address,), bytes=len(CONTENT), sha256=SHA256)


def fetch_file(file: File, sources: Sources):
    return fetch([file], sources, lambda _file, content, _where: content)


def failure(file: File, sources: Sources) -> str:
    """Return the error message of a fetch, and check that it is one line."""
    with pytest.raises(DataError) as error:
        fetch_file(file, sources)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("fault", FAULTS)
def test_error_of_a_faulty_server_is_one_line_and_nothing_is_cached(serve, tmp_path, fault, shorten_time_limit):
    script, reason = FAULTS[fault]
    shorten_time_limit(fault)
    server, sources = serve(script), Sources(None, tmp_path / "cache")
    assert failure(declared(server), sources) == (
        f"cannot get a.bin: tried {server.address}: {reason}; expected sha256 {SHA256}; put the file by hand into "
        f"{tmp_path / 'cache' / 'set'}{os.sep}, or into a folder named by RBMBENCH_DATA_MIRROR"
    )
    assert not sources.cache.exists()


def test_a_wrong_download_replaces_no_cached_file(serve, tmp_path):
    """A wrong file in the cache is left to be inspected."""
    server, sources = serve(sends("200 OK", PAGE)), Sources(None, tmp_path / "cache")
    kept = sources.kept(declared(server))
    kept.parent.mkdir(parents=True)
    kept.write_bytes(CONTENT[:-1])
    assert wrong(CONTENT[:-1]) in failure(declared(server), sources)
    assert kept.read_bytes() == CONTENT[:-1]
    assert os.listdir(kept.parent) == ["a.bin"]


def test_a_process_ends_while_a_server_is_sending(serve, tmp_path):
    code = "import sys; from rbmbench.datasets import _http; _http.PATIENCE, _http.SLOWEST = 0.2, 1e9\n"
    code += "_http.download(sys.argv[1], 'a.bin', 10**6)"
    command = [sys.executable, "-c", code, serve(sends_slowly).address]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr.endswith("too slow, not done after 0 s\n")
