# SPDX-License-Identifier: BSD-3-Clause
# The workflow with its packages, pinned. What it runs needs no network, except for data sets that are downloaded.
#
#   docker build -t rbmbench .
#   docker run --rm --network none --user "$(id -u):$(id -g)" -v "$PWD:/work" rbmbench
#
# makes the smoke scale in the current folder. docs/deploying.md has the other scales, and Apptainer.
FROM python:3.12-slim

# git tells the commit that results name. Nothing is compiled: all pinned packages have wheels.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends git \
    && rm -rf /var/lib/apt/lists/* \
    && git config --system --add safe.directory /opt/rbmbench

WORKDIR /opt/rbmbench
COPY requirements.lock .
RUN python -m pip install --no-cache-dir --requirement requirements.lock
COPY . .
RUN python -m pip install --no-cache-dir --no-deps --no-build-isolation --editable .

# Any user may run it: caches are where all can write. Kernels are compiled now, for processors like this one.
ENV HOME=/tmp NUMBA_CACHE_DIR=/opt/numba
RUN rbmbench doctor && chmod -R a+rwX /opt/numba && mkdir --mode 777 /work

WORKDIR /work
ENTRYPOINT ["snakemake", "--snakefile", "/opt/rbmbench/Snakefile"]
CMD ["--cores", "all", "--configfile", "/opt/rbmbench/config/smoke.yaml"]
