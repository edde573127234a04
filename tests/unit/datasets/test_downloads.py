# SPDX-License-Identifier: BSD-3-Clause
"""Mirror, cache and downloads of data files, with a local server."""

import gzip
import hashlib
import os
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from pathlib import Path

import pytest

from rbmbench.base.errors import DataError
from rbmbench.datasets._downloads import File, Sources, _is_good, catalogue, fetch
from rbmbench.datasets._formats import idx_images

CONTENT = b"the right bytes" * 1009
SHA256 = hashlib.sha256(CONTENT).hexdigest()
MIRROR = os.environ.get("RBMBENCH_DATA_MIRROR")


def contents(_file, content, _where):
    """Return the content unchecked."""
    return content


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch):
    own = "RBMBENCH_DATA_MIRROR", "RBMBENCH_DATA_CACHE"
    for variable in (*own, "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture(name="server")
def _server():
    """Serve the bytes in ``pages`` by path, and record the requested paths."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            server.requested.append(self.path)
            page = server.pages.get(self.path)
            self.send_response(404 if page is None else 200)
            if self.path == "/labelled":
                self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(page or b"") + (self.path == "/cut")))
            with suppress(ConnectionError):  # the client may have disconnected
                self.end_headers()
                self.wfile.write(page or b"")

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.pages, server.requested = {}, []
    server.base = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(name="declare")
def _declare(server):
    """Return a function that declares a file with addresses of the server."""

    def declare(*paths, name="a.bin", sha256=SHA256):
        addresses = tuple(server.base + path for path in paths)
        return File(folder="set", name=name, addresses=addresses, bytes=len(CONTENT), sha256=sha256)

    return declare


@pytest.fixture(name="sources")
def _sources(tmp_path):
    """Return a function that returns sources with a mirror and a temporary cache."""
    return lambda mirror=None: Sources.resolve(mirror, tmp_path / "cache")


def failure(files, sources, read=contents):
    """Return the error message of a fetch, and check that it is one line."""
    with pytest.raises(DataError) as error:
        fetch(files, sources, read)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_download_is_cached(server, declare, sources):
    server.pages["/a.bin"] = CONTENT
    first = fetch([declare("/a.bin")], sources(), contents)
    again = fetch([declare("/a.bin")], sources(), contents)
    assert first.value == again.value == CONTENT
    assert first.record == {"name": "a.bin", "sha256": SHA256, "from": f"{server.base}/a.bin"}
    assert again.record["from"] == "cache"
    assert server.requested == ["/a.bin"]
    kept = sources().cache / "set" / "a.bin"
    assert kept.read_bytes() == CONTENT
    assert list(kept.parent.iterdir()) == [kept]


def test_next_address_is_tried_after_one_that_fails(server, declare, sources):
    server.pages |= {"/wrong": b"x" * len(CONTENT), "/cut": CONTENT, "/a.bin": CONTENT}
    copy = fetch([declare("/missing", "/wrong", "/cut", "/a.bin")], sources(), contents)
    assert copy.record["from"] == f"{server.base}/a.bin"
    assert server.requested == ["/missing", "/wrong", "/cut", "/a.bin"]


def test_error_names_all_sources_that_failed(server, declare, sources, tmp_path):
    server.pages["/wrong"] = b"other bytes"
    line = failure([declare("/missing", "/wrong", "/cut")], sources(tmp_path))
    wrong = f"{server.base}/wrong: wrong checksum of a.bin: must be sha256 {SHA256}, got "
    other = hashlib.sha256(b"other bytes").hexdigest()
    missing = f"mirror {tmp_path}: no such file", f"{server.base}/missing: HTTP status 404"
    by_hand = f"put the file by hand into {tmp_path / 'cache' / 'set'}"
    for words in ("cannot get a.bin", *missing, wrong, other, by_hand, "RBMBENCH_DATA_MIRROR"):
        assert words in line
    assert not (tmp_path / "cache").exists()


def test_a_file_in_the_folder_that_the_error_names_is_read(declare, sources):
    line = failure([declare("/missing")], sources())
    folder = line.partition("put the file by hand into ")[2].partition(",")[0]
    assert folder.rstrip("/") == str(sources().cache / "set")
    (sources().cache / "set").mkdir(parents=True)
    (sources().cache / "set" / "a.bin").write_bytes(CONTENT)
    assert fetch([declare("/missing")], sources(), contents).record["from"] == "cache"


def test_a_too_large_download_raises(server, declare, sources):
    server.pages["/huge"] = CONTENT + bytes(10**6)
    assert f"/huge: more than the {len(CONTENT)} bytes expected" in failure([declare("/huge")], sources())


def test_a_file_with_a_content_encoding_is_not_unpacked(server, declare, sources):
    """Some servers send .gz files with a Content-Encoding; unpacking them would change the file."""
    server.pages["/labelled"] = CONTENT
    assert fetch([declare("/labelled")], sources(), contents).value == CONTENT


@pytest.mark.parametrize("where", ["set/a.bin", "a.bin", "elsewhere/a.bin"])
def test_a_file_in_the_mirror_is_not_downloaded(server, declare, sources, tmp_path, where):
    server.pages["/a.bin"] = CONTENT
    path = tmp_path / "mirror" / where
    path.parent.mkdir(parents=True)
    path.write_bytes(CONTENT)
    copy = fetch([declare("/a.bin")], sources(tmp_path / "mirror"), contents)
    assert copy.record == {"name": "a.bin", "sha256": SHA256, "from": "mirror"}
    assert server.requested == []
    assert not sources().cache.exists()


def test_a_file_missing_from_the_mirror_is_downloaded(server, declare, sources, tmp_path):
    server.pages["/a.bin"] = CONTENT
    (tmp_path / "mirror" / "fashion").mkdir(parents=True)
    (tmp_path / "mirror" / "fashion" / "a.bin").write_bytes(b"another set's file of the same name")
    assert fetch([declare("/a.bin")], sources(tmp_path / "mirror"), contents).record["from"].endswith("/a.bin")


@pytest.mark.parametrize("content", [CONTENT[:-1], CONTENT + b"more", b"x" * len(CONTENT)])
def test_a_wrong_file_in_the_mirror_raises(server, declare, sources, tmp_path, content):
    server.pages["/a.bin"] = CONTENT
    path = tmp_path / "mirror" / "a.bin"
    path.parent.mkdir()
    path.write_bytes(content)
    line = failure([declare("/a.bin")], sources(path.parent))
    wrong = f"wrong checksum of a.bin: must be sha256 {SHA256}, got {hashlib.sha256(content).hexdigest()}"
    if len(content) > len(CONTENT):
        wrong = f"wrong a.bin: must have at most {len(CONTENT)} bytes, got {len(content)}; expected sha256 {SHA256}"
    assert line == f"{path}: {wrong}"
    assert path.read_bytes() == content


def test_mirror_may_be_an_address(server, declare, sources):
    server.pages |= {"/base/set/a.bin": CONTENT, "/base/b.bin": CONTENT}
    for name in ("a.bin", "b.bin"):
        copy = fetch([declare("/public", name=name)], sources(server.base + "/base/"), contents)
        assert copy.record["from"] == "mirror"
    assert server.requested == ["/base/set/a.bin", "/base/set/b.bin", "/base/b.bin"]


def test_a_wrong_file_at_the_mirror_address_raises(server, declare, sources):
    server.pages |= {"/set/a.bin": b"other", "/a.bin": CONTENT}
    line = failure([declare("/a.bin")], sources(server.base))
    assert line.startswith(f"{server.base}/set/a.bin: wrong checksum of a.bin: must be sha256 {SHA256}")


@pytest.mark.parametrize("password", ["secret", "p@secret"])
def test_password_of_a_mirror_is_not_shown(server, declare, sources, password):
    secret = server.base.replace("//", f"//user:{password}@")
    line = failure([declare()], sources(secret))
    assert "secret" not in line
    assert f"{server.base}/set/a.bin: HTTP status 404" in line


def test_damaged_cache_copy_is_replaced_by_a_download(server, declare, sources):
    server.pages["/a.bin"] = CONTENT
    kept = sources().cache / "set" / "a.bin"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(CONTENT[:100])
    assert fetch([declare("/a.bin")], sources(), contents).value == CONTENT
    assert kept.read_bytes() == CONTENT


def test_a_file_without_a_known_sha256_is_checked_by_its_reader(server, declare, sources):
    def read(_file, content, where):
        if content != CONTENT:
            raise DataError(f"{where}: not these rows")
        return content

    server.pages |= {"/page": b"<html>", "/a.bin": CONTENT}
    unknown = File(folder="set", name="a.bin", addresses=declare("/page", "/a.bin").addresses, at_most_bytes=10**5)
    copy = fetch([unknown], sources(), read)
    assert copy.record == {"name": "a.bin", "sha256": SHA256, "from": f"{server.base}/a.bin"}
    (sources().cache / "set" / "a.bin").write_bytes(b"spoilt")
    server.pages.clear()
    line = failure([unknown], sources(), read)
    assert "a.bin: not these rows" in line
    assert "its sha256 is not known" in line


def test_an_alternative_file_in_the_mirror_is_read(server, declare, sources, tmp_path):
    server.pages["/a.bin"] = CONTENT
    (tmp_path / "b.bin").write_bytes(CONTENT)
    copy = fetch([declare("/a.bin"), declare(name="b.bin")], sources(tmp_path), contents)
    assert (copy.record["name"], copy.record["from"]) == ("b.bin", "mirror")


def test_a_cache_that_cannot_be_written_raises(server, declare, tmp_path):
    server.pages["/a.bin"] = CONTENT
    (tmp_path / "file").write_text("")
    line = failure([declare("/a.bin")], Sources.resolve(None, tmp_path / "file"))
    assert line.startswith("data cache: ")
    assert "RBMBENCH_DATA_CACHE" in line


def test_progress_bar_on_a_terminal_only(server, declare, sources, tmp_path, monkeypatch):
    class Terminal(StringIO):
        def isatty(self):
            return True

    server.pages["/a.bin"] = CONTENT
    shown = {}
    for kind, stream in (("terminal", Terminal()), ("pipe", StringIO())):
        monkeypatch.setattr("sys.stderr", stream)
        fetch([declare("/a.bin")], Sources.resolve(None, tmp_path / kind), contents)
        shown[kind] = stream.getvalue()
    assert "a.bin: 100%" in shown["terminal"]
    assert shown["pipe"] == ""


def test_mirror_and_cache_are_read_from_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("RBMBENCH_DATA_MIRROR", str(tmp_path))
    monkeypatch.setenv("RBMBENCH_DATA_CACHE", str(tmp_path / "cache"))
    assert Sources.resolve() == Sources(str(tmp_path), tmp_path / "cache")
    assert Sources.resolve("http://127.0.0.1/x", tmp_path) == Sources("http://127.0.0.1/x", tmp_path)
    monkeypatch.setenv("RBMBENCH_DATA_MIRROR", "")
    monkeypatch.delenv("RBMBENCH_DATA_CACHE")
    assert Sources.resolve().mirror is None
    assert "rbmbench" in str(Sources.resolve().cache)


@pytest.mark.parametrize("mirror", ["no/such/folder", "ftp://127.0.0.1/data"])
def test_an_invalid_mirror_raises(mirror):
    with pytest.raises(DataError, match=f"data mirror '{mirror}': no such folder; allowed: a folder, or an http"):
        Sources.resolve(mirror)


def test_declared_files_are_complete():
    for name, entry in catalogue().items():
        assert entry.source
        assert entry.licence
        assert any(file.addresses for file in entry.files)
        for file in entry.files:
            assert file.folder == name
            assert all(address.endswith("/" + file.name) for address in file.addresses)
            assert file.limit > 0
            # A file is checked by its sha256, or by its id in git, or by the checksum of its rows.
            assert (
                len(file.sha256 or "") == 64
                or len(file.git_object or "") == 40
                or len(entry.content_sha256 or "") == 64
            )
            assert file.unpacked_bytes > 0 or not file.name.endswith(".gz")
            # SciPy's reader is safe only for bytes that are known.
            assert file.sha256 or file.git_object or not file.name.endswith(".mat")


def test_bytes_are_not_parsed_before_their_checksum_is_compared(server, declare, sources):
    parsed = []
    server.pages |= {"/wrong": b"x" * len(CONTENT), "/a.bin": CONTENT}
    fetch([declare("/wrong", "/a.bin")], sources(), lambda _file, content, _where: parsed.append(content))
    assert parsed == [CONTENT]


# Unpacked and repacked files.


def images(**declared):
    """Return an idx file of two images of 3x5 pixels, and its declaration."""
    content = b"\0\0\x08\x03" + b"".join(size.to_bytes(4) for size in (2, 3, 5)) + bytes(range(30))
    packed = gzip.compress(content, mtime=1)
    sums = {"sha256": hashlib.sha256(packed).hexdigest(), "unpacked_sha256": hashlib.sha256(content).hexdigest()}
    more = {"bytes": len(packed), "unpacked_bytes": len(content)} | sums | declared
    return content, File(folder="set", name="images-idx3-ubyte.gz", addresses=(), **more)


@pytest.mark.parametrize("folder", ["set", ".", "raw"])
@pytest.mark.parametrize("form", ["unpacked", "packed again"])
def test_unpacked_and_repacked_files_are_read(tmp_path, folder, form):
    content, file = images()
    directory = tmp_path / folder
    directory.mkdir(exist_ok=True)
    if form == "unpacked":
        (directory / "images-idx3-ubyte").write_bytes(content)
    else:
        (directory / "images-idx3-ubyte.gz").write_bytes(gzip.compress(content, 1, mtime=2))
    copy = fetch([file], Sources(str(tmp_path), None), idx_images)
    assert copy.value.tobytes() == bytes(range(30))
    assert copy.record["from"] == "mirror"


@pytest.mark.parametrize("form", ["unpacked", "packed again", "cut", "no gzip"])
def test_unpacked_and_repacked_files_of_other_content_raise(tmp_path, form):
    content, file = images()
    other = content[:-1] + b"x"
    packed = gzip.compress(other, mtime=2)
    (tmp_path / f"images-idx3-ubyte{'' if form == 'unpacked' else '.gz'}").write_bytes(
        {"unpacked": other, "packed again": packed, "cut": gzip.compress(content)[:-9], "no gzip": b"\x1f\x8b"}[form]
    )
    with pytest.raises(DataError, match=r"wrong checksum of images-idx3-ubyte.gz: must be sha256"):
        fetch([file], Sources(str(tmp_path), None), idx_images)


def test_a_repacked_file_without_a_checksum_of_its_content_raises(tmp_path):
    content, file = images(unpacked_sha256=None)
    (tmp_path / "images-idx3-ubyte.gz").write_bytes(gzip.compress(content, 1, mtime=2))
    with pytest.raises(DataError, match=r"wrong checksum of images-idx3-ubyte.gz"):
        fetch([file], Sources(str(tmp_path), None), idx_images)


@pytest.mark.parametrize("data_set", ["mnist", "fashion_mnist"])
def test_declared_checksums_are_those_of_the_unpacked_files(data_set):
    folder = MIRROR and Path(MIRROR)
    for file in catalogue()[data_set].files:
        paths = [path for path in folder.rglob(file.name) if _is_good(file, path)] if folder else []
        if not paths:
            pytest.skip("RBMBENCH_DATA_MIRROR does not have it")
        assert hashlib.sha256(gzip.decompress(paths[0].read_bytes())).hexdigest() == file.unpacked_sha256
