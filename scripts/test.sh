#!/usr/bin/env bash
# The whole suite: the tests on Spark and, beside them, all others; of these the kernel tests once more without compilation.
set -uo pipefail
bin=$1
told=$(mktemp)
trap 'rm -f "$told"' EXIT

without_spark() {
  "$bin/python" -m pytest -m "not spark" &&
    NUMBA_DISABLE_JIT=1 TIMELOOM_FEW_EXAMPLES=1 "$bin/python" -m pytest tests/kernels
}

without_spark >"$told" 2>&1 &
beside=$!
"$bin/python" -m pytest -m spark
on_spark=$?
wait "$beside"
others=$?
cat "$told"
[ "$on_spark" = 0 ] && [ "$others" = 0 ]
