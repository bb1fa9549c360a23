#!/usr/bin/env bash
# Installs the lowest versions that pyproject.toml allows into an environment of their own, and tries Timeloom on them.
set -euo pipefail
bin=$1
venv=$2
shift 2

[ -x "$venv/bin/python" ] || "$bin/python" -m venv --without-pip "$venv"
"$bin/uv" pip install --quiet --no-cache --python "$venv/bin/python" --resolution lowest-direct -e ".[spark,test]"
"$bin/uv" pip freeze --python "$venv/bin/python" | grep -iE '^(click|numpy|numba|pyarrow|pydantic|pyyaml|rich|sqlglot|pandas|pyspark|pytest|hypothesis|duckdb|polars)=='
# A smoke test: each engine, verb and file format once, with few random examples.
TIMELOOM_FEW_EXAMPLES=1 NUMBA_CACHE_DIR="$venv/numba" "$venv/bin/python" -m pytest -x -m "not spark" \
  tests/cli tests/query tests/pipeline tests/report tests/storage tests/test_package.py "$@"
