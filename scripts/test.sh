#!/usr/bin/env bash
# The whole suite in three parts beside each other, since tests on Spark mostly wait: those in one Spark session, those
# that start Spark in other processes, and all without Spark, of which the kernel tests run once more without compilation.
set -uo pipefail
bin=$1
told=$(mktemp -d)
trap 'rm -rf "$told"' EXIT

without_spark() {
  "$bin/python" -m pytest -m "not spark" &&
    NUMBA_DISABLE_JIT=1 TIMELOOM_FEW_EXAMPLES=1 "$bin/python" -m pytest tests/kernels
}

without_spark >"$told/others" 2>&1 &
others=$!
"$bin/python" -m pytest -m processes >"$told/processes" 2>&1 &
processes=$!
"$bin/python" -m pytest -m "spark and not processes"
failed=$?
wait "$processes" || failed=1
cat "$told/processes"
wait "$others" || failed=1
cat "$told/others"
exit "$failed"
