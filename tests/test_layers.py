"""The contracts on imports are there and bite: a copy of the package that breaks each of them is refused."""

import ast
import configparser
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

BREACHES = {
    "Imports point downward": ("model/breach.py", "from timeloom.errors import UsageError\nimport timeloom.cli"),
    "The engines share what lies below them, and import nothing of each other": (
        "engines/local/breach.py",
        "import timeloom.engines.spark.join",
    ),
    "What Spark's verbs stand on has layers, too": (
        "engines/spark/slicing/breach.py",
        "import timeloom.engines.spark.exchange.blocks",
    ),
    "Kernels stand on sorted orders, families of kernels apart": (
        "kernels/order_breach/__init__.py",
        "import timeloom.kernels.joins.runs",
    ),
    "Kernels and model know nothing of tables": ("kernels/joins/breach.py", "import pyarrow"),
}


def verdicts(folder):
    program = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    ran = subprocess.run(
        [sys.executable, "-c", program, "--no-cache", "--config", str(ROOT / ".importlinter")],
        check=False,
        cwd=folder,
        env={"PYTHONPATH": str(folder), "PATH": ""},
        capture_output=True,
        text=True,
    )
    lines = ran.stdout.splitlines()
    return {
        line.rpartition(" ")[0]: line.rpartition(" ")[2] for line in lines if line.endswith((" KEPT", " BROKEN"))
    }, ran.returncode


def test_a_breach_of_each_contract_is_refused(tmp_path):
    shutil.copytree(ROOT / "src" / "timeloom", tmp_path / "timeloom", ignore=shutil.ignore_patterns("__pycache__"))
    for path, text in BREACHES.values():
        file = tmp_path / "timeloom" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f'"""A breach."""\n\n{text}\n')
    found, code = verdicts(tmp_path)
    assert found == dict.fromkeys(BREACHES, "BROKEN")
    assert code == 1


def test_every_contract_has_a_breach():
    config = configparser.ConfigParser()
    config.read(ROOT / ".importlinter")
    names = {config[section]["name"] for section in config.sections() if section.startswith("importlinter:contract")}
    assert names == set(BREACHES)


def test_every_folder_of_spark_is_in_a_layer_and_none_imports_a_verb():
    """Verbs come and go by one file each; so the contract has the folders, and this looks after the files."""
    config = configparser.ConfigParser()
    config.read(ROOT / ".importlinter")
    layers = config["importlinter:contract:spark"]["layers"].replace("|", " ").split()
    folder = ROOT / "src" / "timeloom" / "engines" / "spark"
    assert sorted(layers) == sorted(path.parent.name for path in folder.glob("*/__init__.py"))
    verbs = {f"timeloom.engines.spark.{path.stem}" for path in folder.glob("*.py")}
    for path in folder.glob("*/*.py"):
        assert not set(imported(path)) & verbs, path


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            yield from (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
