"""Interval data with seeds, after the workloads of the papers."""

import numpy as np
import pyarrow as pa


def uniform(
    rows: int, mean: float, seed: int, *, domain: int = 10**6, long_lived: float = 0.0, longest: float = 1.0
) -> dict[str, np.ndarray]:
    """Starts uniform in [1, domain], durations exponential; a share of rows may last 10 to 100 % of the longest.

    ``longest`` is a share of the domain.
    """
    random = np.random.default_rng(seed)
    start = random.integers(1, domain + 1, rows)
    length = np.maximum(1, np.ceil(random.exponential(mean, rows))).astype(np.int64)
    lasting = random.random(rows) < long_lived
    length[lasting] = random.integers(int(domain * longest) // 10, int(domain * longest) + 1, int(lasting.sum()))
    return {"start": start, "end": start + length}


def table(columns: dict[str, np.ndarray], identifier: str) -> pa.Table:
    """An Arrow table with a running number."""
    return pa.table({**columns, identifier: np.arange(columns["start"].size)})
