"""Run every benchmark, or those named on the command line."""

import importlib
import pkgutil
import sys

import benchmarks


def main() -> None:
    wanted = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    options = [argument for argument in sys.argv[1:] if argument.startswith("-")]
    names = [module.name for module in pkgutil.iter_modules(benchmarks.__path__) if module.name.startswith("bench_")]
    for name in names:
        if not wanted or any(part in name for part in wanted):
            sys.argv = [name, *options]
            importlib.import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()
