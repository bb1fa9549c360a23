"""The flights demo: prepares the sources, runs the pipeline, prints what came out."""

import sys
from pathlib import Path

import pyarrow.compute as pc
from prepare import prepare

from timeloom.cli.screen import progress
from timeloom.errors import TimeloomError
from timeloom.pipeline.definition.secrets import Secrets
from timeloom.pipeline.execution import Done, run_file
from timeloom.pipeline.tables.files import read_table

HERE = Path(__file__).resolve().parent
OUT = HERE.parents[1] / "out" / "flights"


def main() -> int:
    """Run the demo."""
    print("preparing a year of flights out of New York …")
    prepare(OUT / "sources")
    secrets = Secrets()
    try:
        with progress(secrets.mask) as watcher:
            done = run_file(
                str(HERE / "flights.yml"),
                engine=sys.argv[1] if len(sys.argv) > 1 else None,
                secrets=secrets,
                watcher=watcher,
            )
    except TimeloomError as error:
        print(f"timeloom: {error}", file=sys.stderr)
        return 1
    print_summary(done)
    return 0


def print_summary(done: Done) -> None:
    """Print the numbers that the pipeline has found."""
    rows = {sink["name"]: sink["rows"] for sink in done.record["sinks"]}
    flights, weather = done.record["sources"]
    hours = read_table(str(OUT / "hours_of_bad_weather"), "csv")
    connections = read_table(str(OUT / "connections"), "parquet")
    in_the_air = read_table(str(OUT / "in_the_air"), "parquet")
    busiest = read_table(str(OUT / "busiest"), "csv")
    feasible = pc.sum(pc.equal(connections["feasible"].cast("string"), "true")).as_py()
    lines = [
        ("flights read", flights["rows"]),
        ("  of them quarantined (cancelled or diverted)", flights["quarantined"]),
        ("hours of weather read", weather["rows"]),
        ("pairs of flights under way together, same route", rows["together"]),
        ("hours of bad weather", rows["hours_of_bad_weather"]),
        ("  departures in these hours", pc.sum(hours["departures"]).as_py()),
        ("aircraft that left New York again within 12 hours", rows["connections"]),
        ("  with time enough for the way back", feasible),
        ("aircraft in two places at once (errors in the data)", rows["impossible"]),
        ("most aircraft under way at once", pc.max(in_the_air["aircraft"]).as_py()),
        ("most flights that one flight shared the sky with", pc.max(busiest["count"]).as_py() - 1),
        ("stretches on the ground between two flights", rows["ground_time"]),
        ("stretches without a departure, over the airports", rows["quiet_time"]),
    ]
    print()
    for what, count in lines:
        print(f"  {what:<53} {count:>10,}")
    print(f"\n  {done.record['seconds']:.0f} s on the {done.record['engine']} engine; report: {done.page}")


if __name__ == "__main__":
    sys.exit(main())
