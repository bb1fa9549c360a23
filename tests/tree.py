"""Files of the tree that tests read, from wherever the test stands: the root, and the worked examples of the papers."""

import json
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parent
ROOT = TESTS.parent


def worked_examples(paper: str) -> dict[str, dict[str, Any]]:
    """The examples of a paper by their names: what goes in, and what the paper says comes out."""
    return {case["id"]: case for case in json.loads((TESTS / "golden" / f"{paper}.json").read_text())}
