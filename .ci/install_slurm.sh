#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Installs SLURM and munge for the tests of the workflow on a cluster, where that can be done: by root, with apt-get.
# Starts no daemon, and never fails: without SLURM those tests are skipped.
set -uo pipefail
export PATH="$PATH:/usr/sbin:/sbin" DEBIAN_FRONTEND=noninteractive

is_there() {
  for program in munged slurmctld slurmd sbatch; do
    command -v "$program" > /dev/null || return 1
  done
}

is_there && exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get > /dev/null; then
  echo "SLURM is not installed, which takes root and apt-get: its tests are skipped" >&2
  exit 0
fi

# Packages start their services unless this file forbids it: the tests start daemons of their own.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' > "$policy" && chmod +x "$policy"
  trap 'rm -f "$policy"' EXIT
fi
echo "Installing slurm-wlm and munge by apt-get" >&2
timeout 120 apt-get update -q > /dev/null 2>&1
timeout 600 apt-get install -y -q --no-install-recommends slurm-wlm munge > /dev/null 2>&1
is_there || echo "SLURM could not be installed: its tests are skipped" >&2
exit 0
