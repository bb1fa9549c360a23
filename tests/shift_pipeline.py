"""A pipeline over shifts and calls, and what a test asks of its run."""

import json

import pyarrow as pa

PIPELINE = """\
name: shifts
engine: local
sources:
  shifts:
    path: shifts.csv
    schema: {who: string, start: timestamp, end: timestamp}
    period: [start, end]
    keys: who
    on_invalid: quarantine
  calls: {path: calls.parquet, period: [from, to]}
steps:
  answered:
    join: {left: shifts, right: calls, relation: contains}
  busy: {sql: "select who, count(*) as calls from answered group by who"}
sinks:
  answered: {path: out/answered.parquet}
  busy: {path: out/busy.csv}
quarantine: {path: out/rejected, format: json}
report: out/report
"""
SHIFTS = """\
who,start,end
Ann,2024-01-01 08:00:00,2024-01-01 12:00:00
Bob,2024-01-01T12:00:00Z,2024-01-01T18:00:00+01:00
Cid,2024-01-01 18:00:00,
Dan,yesterday,2024-01-01 18:00:00
Eve,,2024-01-01 18:00:00
Fay,2024-01-01 18:00:00,2024-01-01 08:00:00
Gus,2024-01-01 18:00:00,2024-01-01 18:00:00
,2024-01-01 18:00:00,2024-01-01 19:00:00
"""


def moment(text):
    return pa.scalar(f"2024-01-01 {text}").cast(pa.timestamp("us")).cast(pa.timestamp("us", "UTC"))


def times(*texts):
    return pa.array([moment(text).as_py() for text in texts], pa.timestamp("us", "UTC"))


def contents(folder):
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and "report" not in file.parts
    }


def report(here):
    return json.loads((here / "out/report/report.json").read_text())
