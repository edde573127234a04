# SPDX-License-Identifier: BSD-3-Clause
"""Files that declare more than they hold or unpack to far more than their size raise before memory is allocated.

The files are read in a process that is limited to 1 GB more than its libraries use. The limits of the readers are:

- ``config.yaml``, overlays, papers, claims: 256 kB, 64 levels, 65 536 values with aliases followed, no key twice.
- ``--settings``, ``--options``, specs, ``meta.json``, headers of checkpoints: 16 MB, 64 levels, integers of 64 bits.
- ``.npz`` and ``.npy``: numbers and text; the largest of 512 MB, a quarter of the free memory, 64 times the file.
- a user's text: numbers in lines of one length, 128 MB.
- gzip and R files of data sets: the bytes that ``files.yaml`` declares, 16 MB unpacked. MATLAB files: by checksum.
- parquet and CSV of results: flat columns of numbers and text, 2^26 values, 512 MB; 64 MB for CSV.
- arguments: UTF-8, counts below 2^31. Names in the configuration: 64 letters. Settings of a job:
  100 kB. Parameters of a run: 8 GB. A grid: 10 000 combinations.
"""

import gzip
import io
import json
import lzma
import struct
import subprocess
import sys
import zipfile
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from mutations import npy_of, parquet_of
from test_fuzz_formats import reviews

from rbmbench.datasets import we8there

GIANT = 2**31
MOST_MB = 1024
CODE = """
import json, resource, sys
from pathlib import Path
from rbmbench import datasets
from rbmbench.config.loading import read_yaml
from rbmbench.io import results
from rbmbench.io.tables import csv_table, parquet_table
from rbmbench.training.checkpoint import load_checkpoint
from rbmbench.datasets import _formats, _rdata, we8there
from rbmbench.datasets._downloads import File
from rbmbench.base.errors import RbmbenchError
import pandas, pyarrow.parquet, scipy.io

def published(reader):
    return lambda path: reader(File("made", path.name, (), unpacked_bytes=10**6), path.read_bytes(), str(path))

def read_any(folder, name):
    results.COLUMNS[name] = {}
    return results.read_table(folder, name)

READERS = {
    "idx": published(_formats.idx_images), "rda": published(_rdata.r_objects),
    "reviews": published(we8there._present),
    "grey": published(_formats.grey_npz), "own": lambda path: datasets.load("user_file", path=str(path)),
    "data": datasets.read, "arrays": lambda path: results.read_arrays(path, ("W",)),
    "checkpoint": lambda path: load_checkpoint(path, "mine"), "json": results.read_json, "yaml": read_yaml,
    "parquet": lambda path: read_any(path.parent, path.name), "csv": results.read_csv,
}
pages = int(Path("/proc/self/statm").read_text().split()[0])
most = pages * resource.getpagesize() + 2**30
resource.setrlimit(resource.RLIMIT_AS, (most, most))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for argument in sys.argv[1:]:
    path = Path(argument)
    try:
        READERS[path.name.split("-")[0]](path)
        line = "was read"
    except RbmbenchError as error:
        line = str(error)
    taken = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 2**10
    print(json.dumps([path.name, line, taken]), flush=True)
"""


def header(descr: str, shape: tuple) -> bytes:
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def archive(packing=zipfile.ZIP_STORED, **members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", packing) as made:
        for name, content in members.items():
            made.writestr(f"{name}.npy", content)
    return buffer.getvalue()


@cache
def zip_bomb(megabytes: int = 600) -> bytes:
    """Return an archive of an array of zeros that is far larger than the archive."""
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as made,
        made.open("W.npy", "w", force_zip64=True) as member,
    ):
        member.write(header("'|u1'", (megabytes, 2**20)))
        for _ in range(megabytes):
            member.write(bytes(2**20))
    return buffer.getvalue()


def overlapping() -> bytes:
    """Return an archive whose many members are the same bytes."""
    content = header("'|u1'", (2**24,)) + bytes(2**24)
    once = io.BytesIO(archive(zipfile.ZIP_DEFLATED, W=content))
    with zipfile.ZipFile(once, "a") as made:
        first = made.infolist()[0]
        for number in range(100):
            same = zipfile.ZipInfo(f"W{number}.npy")
            for name in ("compress_type", "CRC", "compress_size", "file_size", "header_offset"):
                setattr(same, name, getattr(first, name))
            made.filelist.append(same)
        made._didModify = True
    return once.getvalue()


def laughs() -> bytes:
    lines = ["a0: &a0 {x: 1}"]
    for level in range(1, 30):
        lines.append(f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]")
    return "\n".join(lines).encode()


def xz_of_much_memory() -> bytes:
    """Return a file whose decompression needs 1.5 GB."""
    return lzma.compress(bytes(100), filters=[{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 3 * 2**29 - 1}])


REPEATED = pa.array(np.zeros(2**20, np.int8))
BOMBS = {
    "idx-sizes": lambda: gzip.compress(struct.pack(">4B3I", 0, 0, 8, 3, GIANT - 1, GIANT - 1, 3)),
    "idx-zeros": lambda: gzip.compress(bytes(10**8), compresslevel=1),
    "own-shape.npy": lambda: header("'<f8'", (GIANT, GIANT)),
    "own-product.npy": lambda: header("'<f8'", (2**32, 2**32)) + bytes(64),
    "own-empty-texts.npy": lambda: header("'<U0'", (2**40,)),
    "own-record.npy": lambda: header("[('a', '<f8', (1000000000,))]", (3,)),
    "own-shape.npz": lambda: archive(train=header("'<f8'", (GIANT, GIANT))),
    "own-zeros.npz": zip_bomb,
    "own-dense.csv": lambda: 2**28,
    "data-shape": lambda: archive(train=header("'<f8'", (GIANT, 9)), validation=b"", test=b"", provenance=b""),
    "grey-shape": lambda: archive(train=header("'|u1'", (GIANT, 784)), test=header("'|u1'", (GIANT, 784))),
    "arrays-zeros": zip_bomb,
    "arrays-overlap": overlapping,
    "arrays-shape": lambda: archive(zipfile.ZIP_DEFLATED, W=header("'<f4'", (GIANT, GIANT))),
    "arrays-lzma": lambda: archive(zipfile.ZIP_LZMA, W=npy_of(np.zeros(9))),
    "checkpoint-shape": lambda: archive(header=header("'<U1'", (2**40,))),
    "rda-zeros": lambda: lzma.compress(b"RDX2\nX\n" + bytes(3 * 10**7), preset=0),
    "rda-memory": xz_of_much_memory,
    "rda-nested": lambda: lzma.compress(b"RDX2\nX\n" + bytes(12) + struct.pack(">ii", 19, 1) * 10**5),
    "rda-length": lambda: lzma.compress(b"RDX2\nX\n" + bytes(12) + struct.pack(">ii", 13, GIANT - 1)),
    "reviews-counts": lambda: lzma.compress(reviews(0, *[GIANT - 1] * we8there.TERMS)),
    "json-nested": lambda: b"[" * 10**6,
    "json-closed": lambda: b"[" * 900 + b"]" * 900,
    "json-number": lambda: b"9" * 10**6,
    "json-long": lambda: b"[" + b"[]," * 10**7 + b"[]]",
    "yaml-laughs": laughs,
    "yaml-nested": lambda: b"a: " + b"[" * 10**5,
    "yaml-itself": lambda: b"a: &a [*a]",
    "yaml-number": lambda: b"a: 0x" + b"f" * 10**5,
    "yaml-long": lambda: b"a: b\n" * 10**6,
    "parquet-rows": lambda: parquet_of(pa.table({f"a{number}": REPEATED for number in range(70)})),
    "own-long.npy": lambda: 2**32,
    "json-large": lambda: 2**32,
    "yaml-large": lambda: 2**32,
    "csv-long": lambda: 2**28,
}

# Messages of files that a later check would reject as well.
REASONS = {
    "yaml-laughs": "at most 64 levels and 65536 values",
    "yaml-nested": "nested too deeply",
    "yaml-itself": "at most 64 levels",
    "rda-zeros": "more than 16777216 bytes",
    "rda-nested": "nested more than 64 deep",
    "idx-zeros": "unpacks to more than",
}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory) -> dict:
    """Return the message of every file, and the largest memory in MB until then."""
    folder = tmp_path_factory.mktemp("bombs")
    for name, make in BOMBS.items():
        content = make()
        with (folder / name).open("wb") as file:
            # A number is the length of a sparse file.
            file.truncate(content) if isinstance(content, int) else file.write(content)
    names = [str(folder / name) for name in BOMBS]
    done = subprocess.run([sys.executable, "-c", CODE, *names], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {name: (line, taken) for name, line, taken in map(json.loads, done.stdout.splitlines())}


def test_files_raise_before_memory_is_allocated(outcomes):
    for name in BOMBS:
        line, taken = outcomes[name]
        assert line != "was read", name
        assert name in line
        # Raised for the declared size, not by a failed allocation.
        assert "more memory than there is" not in line
        assert REASONS.get(name, "") in line
        assert "\n" not in line
        assert taken < MOST_MB
