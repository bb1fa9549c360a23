"""One value that is no time in a file: a row like any other invalid one, on every command that reads periods."""

import pyarrow as pa
import pytest
from pyarrow import csv

from timeloom.cli import main

BAD = """key,start,end
a,2024-01-01 06:00,2024-01-01 09:00
b,2024-01-01 07:00,soon
c,never,2024-01-01 08:00
d,2024-01-01 08:00,
"""
GERMAN = "key,start,end\na,01.02.2024,03.02.2024\nb,02.02.2024,2024\nc,04.02.2024,05.02.2024\n"
INSTANTS = "key,at\na,7\nb,8\nc,x\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in (("bad", BAD), ("german", GERMAN), ("instants", INSTANTS)):
        (tmp_path / f"{name}.csv").write_text(text)
    csv.write_csv(pa.table({"start": [1, 8], "end": [8, 9]}), tmp_path / "good.csv")
    return tmp_path


def run(capfdbinary, *arguments):
    code = main(list(arguments))
    found = capfdbinary.readouterr()
    return code, found.out.decode(), found.err.decode()


def test_it_is_refused_with_its_row_and_what_can_be_done(here, capfdbinary):
    code, out, err = run(capfdbinary, "depth", "bad.csv")
    assert (code, out) == (1, "")
    assert "1 of 4 values in column 'start' of 'bad.csv' are no timestamp_ntz, the first is 'never' in row 3" in err
    assert "--rejected FILE" in err


def test_it_goes_to_the_rejected_rows_as_it_was_written(here, capfdbinary):
    code, out, _ = run(capfdbinary, "coalesce", "bad.csv", "--rejected", "rejected.csv")
    assert (code, [line[:3] for line in out.splitlines()[1:]]) == (0, ['"a"', '"d"'])
    kept = csv.read_csv(here / "rejected.csv")
    assert kept["reason"].to_pylist() == ["end is no timestamp_ntz", "start is no timestamp_ntz"]
    assert (kept["start"].to_pylist()[1], kept["end"].to_pylist()[0]) == ("never", "soon")


def test_an_end_that_is_no_time_is_not_an_open_end(here, capfdbinary):
    code, out, err = run(capfdbinary, "stab", "bad.csv", "--at", "2024-01-02T00:00:00", "--on-invalid", "drop")
    assert (code, [line[:3] for line in out.splitlines()[1:]]) == (0, ['"d"'])
    assert "dropped rows: 1 of 4 values in column 'end' of 'bad.csv'" in err


def test_rejected_rows_of_two_tables_are_told_apart(here, capfdbinary):
    options = ["--right-period", "at", "--rejected", "rejected.csv"]
    code, out, _ = run(capfdbinary, "join", "good.csv", "instants.csv", *options)
    assert (code, out.splitlines()[1:]) == (0, ['1,8,"a",7', '8,9,"b",8'])
    rejected = csv.read_csv(here / "rejected.csv")
    assert rejected.select(["side", "key", "at", "reason"]).to_pylist() == [
        {"side": "right", "key": "c", "at": "x", "reason": "at is no bigint"}
    ]


def test_formats_of_dates_leave_out_what_does_not_fit(here, capfdbinary):
    options = ["depth", "german.csv", "--date-format", "%d.%m.%Y"]
    code, _, err = run(capfdbinary, *options)
    assert (code, "'end' of 'german.csv' are no time as '%d.%m.%Y' has it, the first is '2024' in row 2" in err) == (
        1,
        True,
    )
    code, out, _ = run(capfdbinary, *options, "--rejected", "rejected.csv")
    assert (code, out.splitlines()[1:]) == (0, ["2024-02-01,2024-02-03,1", "2024-02-04,2024-02-05,1"])
    assert csv.read_csv(here / "rejected.csv")["key"].to_pylist() == ["b"]


@pytest.mark.parametrize(
    "command",
    [
        ["as-of", "instants.csv", "instants.csv"],
        ["check", "instants.csv", "--period", "at"],
        ["explain", "stab", "instants.csv", "--period", "at", "--at", "7"],
        ["plot", "instants.csv", "--period", "at", "-o", "out.svg"],
        ["index", "build", "instants.csv", "--period", "at", "-o", "out.idx"],
    ],
)
def test_every_command_tells_of_it(here, capfdbinary, command):
    code, _, err = run(capfdbinary, *command)
    assert (code, "'at' of 'instants.csv' are no bigint, the first is 'x' in row 3" in err) == (1, True)


def test_an_index_takes_the_options_of_tables(here, capfdbinary):
    (here / "german.csv").write_text(GERMAN.replace(",2024\n", ",07.02.2024\n"))
    options = ["index", "build", "german.csv", "-o", "out.idx"]
    code, _, err = run(capfdbinary, *options)
    assert (code, "'start' of 'german.csv' is text, such as '01.02.2024'" in err) == (1, True)
    assert run(capfdbinary, *options, "--date-format", "%d.%m.%Y")[0] == 0
    assert run(capfdbinary, "index", "count", "out.idx", "--at", "2024-02-02")[1].endswith(",2\n")
