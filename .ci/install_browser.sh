#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Installs chromium for the tests of the report's page, where that can be done: by root, with apt-get. Never fails:
# without a browser those tests are skipped.
set -uo pipefail
export DEBIAN_FRONTEND=noninteractive

command -v chromium > /dev/null && exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get > /dev/null; then
  echo "chromium is not installed, which takes root and apt-get: its tests are skipped" >&2
  exit 0
fi
echo "Installing chromium by apt-get" >&2
timeout 120 apt-get update -q > /dev/null 2>&1
timeout 600 apt-get install -y -q --no-install-recommends chromium > /dev/null 2>&1
command -v chromium > /dev/null || echo "chromium could not be installed: its tests are skipped" >&2
exit 0
