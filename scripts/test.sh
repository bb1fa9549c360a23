#!/usr/bin/env bash
# The whole suite with compiled kernels, then the kernel tests once more without compilation.
set -euo pipefail
bin=$1
"$bin/python" -m pytest
NUMBA_DISABLE_JIT=1 TIMELOOM_FEW_EXAMPLES=1 "$bin/python" -m pytest tests/kernels
