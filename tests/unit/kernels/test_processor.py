# SPDX-License-Identifier: BSD-3-Clause
"""`make test-processor` computes as on an old processor, so that tests depend on no rounding of this one."""

import os

import numpy as np
import pytest
import threadpoolctl

pytestmark = pytest.mark.skipif(os.environ.get("NUMBA_CPU_NAME") != "nehalem", reason="for `make test-processor`")


def test_numpy_and_openblas_compute_as_on_an_old_processor():
    numpy = np._core._multiarray_umath
    assert numpy.__cpu_dispatch__
    assert [name for name in numpy.__cpu_dispatch__ if numpy.__cpu_features__[name]] == []
    libraries = [library for library in threadpoolctl.threadpool_info() if library["internal_api"] == "openblas"]
    assert {library["architecture"] for library in libraries} == {"Nehalem"}


def test_kernels_are_compiled_for_an_old_processor():
    numba = pytest.importorskip("numba")
    pytest.importorskip("rbmbench.kernels.numba")  # sets features if the user has named no processor
    assert (numba.config.CPU_NAME, numba.config.CPU_FEATURES) == ("nehalem", "")
