#!/usr/bin/env bash
# Installs an older PySpark that is supported into an environment of its own, and runs a smaller suite of the Spark engine on it.
set -euo pipefail
bin=$1
venv=$2
version=${3:-$(sed -nE 's/^spark = \["pyspark\[connect\]>=([0-9.]+),.*/\1/p' pyproject.toml)}

[ -x "$venv/bin/python" ] || "$bin/python" -m venv --without-pip "$venv"
# All else as it is pinned: what differs is Spark, and what it needs itself.
pins=$(mktemp)
trap 'rm -f "$pins"' EXIT
grep -vE '^(pyspark|py4j|grpcio|grpcio-status|googleapis-common-protos|protobuf)==' constraints.txt > "$pins"
"$bin/uv" pip install --quiet --no-cache --python "$venv/bin/python" -c "$pins" -e ".[spark,test]" "pyspark[connect]==$version.*"
"$bin/uv" pip freeze --python "$venv/bin/python" | grep -iE '^(pyspark|pyarrow|pandas)=='
# Older versions leave sockets to the collector of garbage, which warns of them.
NUMBA_CACHE_DIR="$venv/numba" "$venv/bin/python" -m pytest -q -W ignore::ResourceWarning \
  -W ignore::pytest.PytestUnraisableExceptionWarning \
  tests/engines/test_join_conformance.py tests/engines/test_second_edition_conformance.py \
  tests/engines/spark/counting/test_functions.py tests/engines/spark/test_stab.py tests/engines/spark/test_versions.py \
  tests/engines/spark/test_sequenced.py
