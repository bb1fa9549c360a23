#!/usr/bin/env bash
# The whole suite. Kernel tests and calls of every verb come first, beside the tests that start Spark in processes of their
# own: they compile what all others then load, so that no two processes compile the same. Then the tests in one Spark
# session run beside all without Spark, since tests on Spark mostly wait; kernel tests run once more without compilation.
set -uo pipefail
bin=$1
told=$(mktemp -d)
trap 'rm -rf "$told"' EXIT
failed=0

"$bin/python" -m pytest -m processes >"$told/processes" 2>&1 &
processes=$!
"$bin/python" -m pytest -m "not spark" tests/kernels tests/fuzz || failed=1

without_spark() {
  local failed=0
  "$bin/python" -m pytest -m "not spark" --ignore=tests/kernels --ignore=tests/fuzz || failed=1
  NUMBA_DISABLE_JIT=1 TIMELOOM_FEW_EXAMPLES=1 "$bin/python" -m pytest tests/kernels tests/stab_forest/test_{axes,maintenance,storage}.py || failed=1
  return "$failed"
}
without_spark >"$told/others" 2>&1 &
others=$!
"$bin/python" -m pytest -m "spark and not processes" || failed=1
wait "$processes" || failed=1
cat "$told/processes"
wait "$others" || failed=1
cat "$told/others"
exit "$failed"
