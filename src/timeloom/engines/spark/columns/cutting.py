"""Periods cut at the lines of a grid, as Spark itself can: at equal distances, or at few instants."""

from pyspark.sql import DataFrame

from timeloom.engines.spark.columns.faults import text_in_sql, told_in_sql
from timeloom.engines.spark.columns.instants import FEW
from timeloom.engines.spark.columns.periods import period_type, period_writer
from timeloom.engines.spark.columns.ticks import literal, tick_written
from timeloom.engines.spark.columns.validity import JudgedFrame
from timeloom.engines.tables.grid_lines import MOST, Lines, beyond, lines_of
from timeloom.engines.tables.period_writer import PeriodWriter
from timeloom.engines.tables.verdicts import unusable_in_sql
from timeloom.model.sequenced import SplitRequest
from timeloom.model.ticks import FOREVER, MAX_TICK, MIN_TICK, saturate

SINCE, UNTIL, LINE = "since", "until", "line"
"""The columns with the ticks of a row, and with where each of its pieces begins, or the line before that."""

ENDLESS = "at least 1 row never ends, so a regular grid would cut it for ever; give it an end"
MANY = f"at least 1 row would be cut into more than {MOST:,} pieces; give a wider grid, or less time"


def lines_in_sql(frame: JudgedFrame, request: SplitRequest) -> Lines | None:
    """The lines at which Spark itself cuts rows, so that none goes to Python; None where tasks must.

    Only tasks can tell of rows that they drop, know calendars as local tables do, and search many lines. Points, and
    open ends that their type cannot hold, are for tasks, too: these say what does not fit.
    """
    if request.policy.drops or request.policy.empty == "point" or request.period.is_instant:
        return None
    lines = lines_of(request.grid, frame.columns.kind, 0, 1)
    if not lines.step and (request.grid.at is None or lines.known.size > FEW):
        return None
    writer = period_writer(frame, wide=False)
    low, high = writer.type.limits
    return lines if all(low <= tick <= high for tick in frame.columns.kind.sentinels[:1]) else None


def cut_in_sql(frame: JudgedFrame, request: SplitRequest, lines: Lines) -> DataFrame:
    """The pieces of all rows, with the columns named by position."""
    ticked = frame.rows.selectExpr("*", f"{frame.columns.start} AS {SINCE}", f"{frame.columns.end} AS {UNTIL}")
    begin, end = _regular(lines) if lines.step else _known(lines)
    refused = [(unusable_in_sql(SINCE, UNTIL), told_in_sql(frame))] if request.policy.judges else []
    refused += _refused(request, lines) if lines.step else []
    found = begin
    if refused:
        told = " ".join(f"WHEN {test} THEN {text}" for test, text in refused)
        tests = " OR ".join(test for test, _ in refused)
        found = f"CASE WHEN {tests} THEN raise_error(CASE {told} END) ELSE {begin} END"
    others = [frame.column(name) for name in frame.schema.names if name not in frame.period.columns]
    pieces = ticked.selectExpr(*others, SINCE, UNTIL, f"explode({found}) AS {LINE}")
    if not lines.step:
        pieces = pieces.where(f"{LINE} IS NOT NULL")
    writer = period_writer(frame, wide=False)
    written = _written(writer, frame, f"greatest({SINCE}, {LINE})", f"least({UNTIL}, {end})", ends=bool(lines.step))
    return pieces.selectExpr(*(written.get(name, frame.column(name)) for name in frame.schema.names))


def _regular(lines: Lines) -> tuple[str, str]:
    """The lines from the one before a row on, and the one after each of them."""
    step = literal(lines.step)
    first = f"{SINCE} - pmod({SINCE} - {literal(lines.origin)}, {step})"
    return f"sequence({first}, {UNTIL} - 1L, {step})", f"{LINE} + {step}"


def _known(lines: Lines) -> tuple[str, str]:
    """The beginning of a row and the instants within it, with nulls for the others; and the one after each of them."""
    inner = [literal(tick) for tick in lines.known.tolist() if MIN_TICK < tick < MAX_TICK]
    within = [f"CASE WHEN {tick} > {SINCE} AND {tick} < {UNTIL} THEN {tick} END" for tick in inner]
    nexts = " ".join(f"WHEN {LINE} < {tick} THEN {tick}" for tick in inner)
    return f"array({', '.join([SINCE, *within])})", f"CASE {nexts} ELSE {UNTIL} END" if inner else UNTIL


def _refused(request: SplitRequest, lines: Lines) -> list[tuple[str, str]]:
    """What is told of rows that cannot be cut, and how they are known: no sum of the others leaves the ticks."""
    assert request.grid.every is not None
    step, origin = lines.step, abs(lines.origin)
    low, high = literal(saturate(MIN_TICK + origin + step)), literal(saturate(MAX_TICK - origin - step))
    return [
        (f"{UNTIL} = {literal(FOREVER)}", text_in_sql(ENDLESS)),
        (f"{SINCE} < {low} OR {UNTIL} > {high}", text_in_sql(str(beyond(request.grid.every)))),
        (f"{UNTIL} div {literal(step)} - {SINCE} div {literal(step)} > {MOST}", text_in_sql(MANY)),
    ]


def _written(writer: PeriodWriter, frame: JudgedFrame, start: str, end: str, *, ends: bool) -> dict[str, str]:
    """Ticks as the period columns of a result, in its convention.

    An open end is its first sentinel or null, unless each piece ``ends``.
    """
    period, axis, kind = writer.period, writer.type.axis, period_type(writer).simpleString()
    sentinels = frame.columns.kind.sentinels
    until = _before(end, period.end_shift)
    if not ends:
        open_end = literal(sentinels[0]) if sentinels else "NULL"
        until = f"CASE WHEN {end} = {literal(FOREVER)} THEN {open_end} ELSE {until} END"
    ticks = {period.start: _before(start, period.start_shift), period.end: until}
    return {name: f"{tick_written(f'({tick})', axis, kind)} AS {frame.column(name)}" for name, tick in ticks.items()}


def _before(tick: str, shift: int) -> str:
    """A tick without the shift by which it was read."""
    return f"{tick} - {shift}L" if shift else tick
