# SPDX-License-Identifier: BSD-3-Clause
"""Servers that answer wrongly, slowly or never: one line, in bounded time, and nothing wrong in the cache."""

import hashlib
import os
import signal
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
        self._script, self.closed, self.asked = script, threading.Event(), threading.Event()
        self.address = f"http://127.0.0.1:{self._socket.getsockname()[1]}/set/a.bin"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=self._answer, args=self._socket.accept()[:1], daemon=True).start()

    def _answer(self, connection) -> None:
        # The other side may hang up at any time.
        with suppress(OSError), connection:
            connection.recv(10_000)
            self.asked.set()
            self._script(self, connection)

    def close(self) -> None:
        self.closed.set()
        self._socket.close()


def answer(status: str, body: bytes = b"", *headers: str, length: int | None = None) -> bytes:
    """Return the bytes of an answer; ``length`` is what it claims, by default the truth."""
    length = len(body) if length is None else length
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {length}", "Connection: close", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def sends(*parts):
    """Return a script that sends some bytes and hangs up."""
    return lambda _, connection: connection.sendall(answer(*parts))


def redirects_to(location: str):
    """Return a script that redirects to an address that is none."""
    return lambda _, connection: connection.sendall(answer("302 Found", b"", f"Location: {location}"))


def tells_no_length(_, connection) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: many\r\nConnection: close\r\n\r\n" + CONTENT)


def redirects(server, connection) -> None:
    connection.sendall(answer("302 Found", b"", f"Location: {server.address}"))


def cuts(_, connection) -> None:
    connection.sendall(answer("200 OK", CONTENT[:9000], length=len(CONTENT)))


def stalls(server, connection) -> None:
    cuts(server, connection)
    server.closed.wait()


def is_silent(server, _) -> None:
    server.closed.wait()


def trickles(server, connection) -> None:
    connection.sendall(answer("200 OK", length=len(CONTENT)))
    while not server.closed.wait(0.02):
        connection.sendall(b"x")


def trickles_headers(server, connection) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    while not server.closed.wait(0.02):
        connection.sendall(b"X: y\r\n")


def babbles(_, connection) -> None:
    connection.sendall(b"\0\1 no answer of this kind\r\n\r\n")


def hangs_up(_, connection) -> None:
    pass


def wrong(content: bytes) -> str:
    return f"wrong checksum of a.bin: must be sha256 {SHA256}, got {hashlib.sha256(content).hexdigest()}"


FAULTS = {
    "page": (sends("200 OK", PAGE), wrong(PAGE) + " (a web page)"),
    "wrong bytes": (sends("200 OK", CONTENT[::-1]), wrong(CONTENT[::-1])),
    "nothing": (sends("200 OK"), wrong(b"")),
    "404": (sends("404 Not Found", PAGE), "HTTP status 404"),
    "circle": (redirects, "redirected in circles"),
    "redirect to no address": (redirects_to("http://[::1"), "no valid answer (ValueError)"),
    "redirect to a file": (redirects_to("file:///etc/hostname"), "no valid answer (InvalidSchema)"),
    "no length": (tells_no_length, "no valid answer (ValueError)"),
    "cut": (cuts, "the download was cut short"),
    "stalled": (stalls, "no answer in time"),
    "silent": (is_silent, "no answer in time"),
    "trickle": (trickles, "too slow, not done after 0 s"),
    "trickle of headers": (trickles_headers, "too slow, not done after 0 s"),
    "babble": (babbles, "no connection (ConnectionError)"),
    "hung up": (hangs_up, "no connection (ConnectionError)"),
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
def impatient(monkeypatch):
    """Return a function that shortens the time limit a fault runs into; on a busy machine no other may come first."""

    def shorten(fault: str, seconds: float = 0.4) -> None:
        if fault in ("stalled", "silent"):
            monkeypatch.setattr(_http, "TIMEOUT", (30, seconds))
        elif fault.startswith("trickle"):
            monkeypatch.setattr(_http, "PATIENCE", seconds)
            monkeypatch.setattr(_http, "SLOWEST", 1e9)

    return shorten


def declared(server: Server) -> File:
    return File(folder="set", name="a.bin", addresses=(server.address,), bytes=len(CONTENT), sha256=SHA256)


def fetched(file: File, sources: Sources):
    return fetch([file], sources, lambda _file, content, _where: content)


def failure(file: File, sources: Sources) -> str:
    """Return the line of the error of a fetch, after checking that it is one line."""
    with pytest.raises(DataError) as error:
        fetched(file, sources)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_server_is_one_line_with_the_choices_and_leaves_nothing(serve, tmp_path, fault, impatient):
    script, reason = FAULTS[fault]
    impatient(fault)
    server, sources = serve(script), Sources(None, tmp_path / "cache")
    assert failure(declared(server), sources) == (
        f"cannot get a.bin: tried {server.address}: {reason}; expected sha256 {SHA256}; put the file by hand into "
        f"{tmp_path / 'cache' / 'set'}{os.sep}, or into a folder named by RBMBENCH_DATA_MIRROR"
    )
    assert not sources.cache.exists()


def test_a_bad_download_replaces_nothing(serve, tmp_path):
    """Neither a good copy in the cache, which is not even asked for, nor a bad one, which somebody may want to see."""
    server, sources = serve(sends("200 OK", PAGE)), Sources(None, tmp_path / "cache")
    kept = sources.kept(declared(server))
    kept.parent.mkdir(parents=True)
    kept.write_bytes(CONTENT[:-1])
    assert wrong(CONTENT[:-1]) in failure(declared(server), sources)
    assert kept.read_bytes() == CONTENT[:-1]
    kept.write_bytes(CONTENT)
    server.asked.clear()
    assert fetched(declared(server), sources).value == CONTENT
    assert not server.asked.is_set()
    assert os.listdir(kept.parent) == ["a.bin"]


def test_the_process_ends_although_a_server_does_not(serve, tmp_path):
    code = "import sys; from rbmbench.datasets import _http; _http.PATIENCE, _http.SLOWEST = 0.2, 1e9\n"
    code += "_http.download(sys.argv[1], 'a.bin', 10**6)"
    command = [sys.executable, "-c", code, serve(trickles).address]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr.endswith("too slow, not done after 0 s\n")


def test_the_next_address_is_asked_when_one_is_too_slow(serve, tmp_path, impatient):
    impatient("trickle", 2.0)
    slow, good = serve(trickles), serve(sends("200 OK", CONTENT))
    file = File("set", "a.bin", (slow.address, good.address), bytes=len(CONTENT), sha256=SHA256)
    assert fetched(file, Sources(None, tmp_path)).record["from"] == good.address


def run_data(server, tmp_path) -> subprocess.Popen:
    """Start the command that fetches a data set, from a mirror that is the server."""
    sources = ["--mirror", server.address.removesuffix("/set/a.bin"), "--cache", str(tmp_path / "cache")]
    return subprocess.Popen(
        [sys.executable, "-m", "rbmbench", "data", "--name", "usps", *sources, "--out", str(tmp_path / "usps.npz")],
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_process_killed_while_it_downloads_leaves_nothing_but_its_lock(serve, tmp_path):
    server = serve(trickles)
    process = run_data(server, tmp_path)
    assert server.asked.wait(120)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    assert os.listdir(tmp_path) == ["usps.npz.lock"]
