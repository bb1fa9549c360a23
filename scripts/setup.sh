#!/usr/bin/env bash
# Makes the environment: a virtual environment with pinned packages, and Java 17 or newer.
set -euo pipefail
python=$1
venv=$2

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
  echo "Timeloom needs Python 3.11 or newer; '$python' is not. Try: make setup PYTHON=python3.12" >&2
  exit 1
fi

echo "setting up $venv"
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check -c constraints.txt uv 2>&1 | grep -v '^WARNING' || true
# Bytecode is written now: where Python may not write it later, every new process would compile all modules again.
# No cache of uv: it would keep what PySpark is built from, over a gigabyte, once more for every new environment.
"$venv/bin/uv" pip install --quiet --no-cache --compile-bytecode --python "$venv/bin/python" -c constraints.txt -e ".[spark,test,check,bench]"
"$venv/bin/python" -m compileall -q src

java_version() { java -version 2>&1 | sed -nE '1s/.*"([0-9]+).*/\1/p'; }
found=$(command -v java >/dev/null 2>&1 && java_version || true)
if [ -z "${found:-}" ] || [ "$found" -lt 17 ]; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing a Java runtime"
    apt-get -qq update && apt-get -qq install -y --no-install-recommends openjdk-17-jre-headless >/dev/null
  else
    echo "Timeloom's Spark engine needs Java 17 or newer (found: ${found:-none})." >&2
    echo "Install a JRE, for example the package openjdk-17-jre-headless, or set JAVA_HOME, and run make again." >&2
    exit 1
  fi
fi
