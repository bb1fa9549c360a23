"""Every aggregate there is has one name, one type and one treatment of nulls wherever it can be asked for.

The tests draw from the records: a new one is tested by its entry, against a plain function of the same name.
"""

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import timeloom as tl
from reference.aggregates import PLAIN
from timeloom.model.aggregates import AGGREGATES, BY_SPELLING
from timeloom.model.measures import read_measures

RECORDS = sorted(AGGREGATES.values(), key=lambda record: record.name)
WINDOW = {"sys": tl.Slide(-1, 1, 1), "app": tl.Slide(-1, 1, 1), "steps": 1}
ROUNDED_TWICE = [0.7, 0.4, 1.3]
DOMAINS = {
    "boolean": [(pa.bool_(), st.booleans())],
    "numeric": [(pa.int64(), st.integers(-3, 3)), (pa.float64(), st.sampled_from([-0.25, 0.5, 1.5, 3.0]))],
    "others": [(pa.int64(), st.integers(-3, 3)), (pa.float64(), st.sampled_from([-0.25, 0.5, 0.1, 1e16, 3.0]))],
}


def columns(record, data):
    """A column that the aggregate takes, with nulls."""
    kind, domain = data.draw(st.sampled_from(DOMAINS.get(record.takes, DOMAINS["others"])))
    return pa.array(data.draw(st.lists(st.one_of(st.none(), domain), max_size=5)), kind)


def periods(column, names=("start", "end")):
    return {names[0]: pa.array([0] * len(column), pa.int64()), names[1]: pa.array([1] * len(column), pa.int64())}


def by_period(record, column):
    table = pa.table(periods(column) | {"v": column})
    return tl.temporal_aggregate(table, {"x": ("v", record.name)}, within=(0, 1), fill=True)["x"]


def by_partner(record, column):
    left = pa.table({"start": [0], "end": [1]})
    return tl.count_join(left, pa.table(periods(column) | {"v": column}), aggregates={"x": ("v", record.name)})["x"]


def history(column):
    return pa.table(
        periods(column, ("sys_start", "sys_end")) | periods(column, ("app_start", "app_end")) | {"v": column}
    )


def by_step(record, column):
    return tl.sliding_windows(history(column), **WINDOW, select={"x": ("v", record.name)})["x"].slice(0, 1)


def by_index(record, column):
    table = history(column)
    index = tl.BitemporalIndex(table)
    kind = tl.sliding_windows(table, **WINDOW, select={"x": ("v", record.name)})["x"].type
    return pa.array([next(iter(index.windows(**WINDOW, select={"x": ("v", record.name)}))).values["x"]], kind)


def by_query(record, column):
    asked = ", ".join(f"{written.format('v')} as x{at}" for at, written in enumerate(record.sql))
    periods = {name: pa.array([at] * len(column), pa.int64()) for at, name in enumerate(("start", "end"))}
    found = tl.sql(f"select {asked} from t group by period", t=pa.table({"v": column, **periods}))
    assert len({str(found[name]) for name in found.column_names if name not in periods}) == 1
    return found["x0"]


CONSUMERS = [by_period, by_partner, by_step, by_index, by_query]


def refuses(consumer, record):
    """By which words a consumer refuses an aggregate; None if it has it."""
    if consumer is by_partner and not record.without_pairs:
        return f"'{record.name}' cannot be had without listing the pairs"
    if consumer is by_index and record.order == "decisive":
        return f"'{record.name}' depends on when rows entered"
    return None


def test_there_is_a_plain_function_for_each():
    assert sorted(PLAIN) == sorted(AGGREGATES)


@pytest.mark.parametrize("consumer", CONSUMERS)
@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
@settings(max_examples=12)
@given(data=st.data())
def test_every_consumer_has_it_or_refuses_it_by_name(record, consumer, data):
    column = columns(record, data)
    assume(consumer is not by_query or len(column))  # without rows there is no period
    words = refuses(consumer, record)
    if words is not None:
        with pytest.raises(tl.UsageError, match=words):
            consumer(record, column)
        return
    found = consumer(record, column)
    assert found.to_pylist() == [PLAIN[record.name](column.to_pylist())]
    assert found.type == by_period(record, column).type


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
def test_nulls_and_no_values_are_what_its_record_says(record):
    plain = PLAIN[record.name]
    assert plain([]) == record.over_nothing
    assert (plain([None, 1, 1, None]) != plain([1, 1])) == record.keeps_nulls


@pytest.mark.parametrize("consumer", CONSUMERS)
def test_averages_are_rounded_once(consumer):
    """Sums of these, rounded before they are divided, give another double."""
    column = pa.array(ROUNDED_TWICE)
    assert sum(ROUNDED_TWICE) / 3 != PLAIN["avg"](ROUNDED_TWICE)
    assert consumer(AGGREGATES["avg"], column).to_pylist() == [PLAIN["avg"](ROUNDED_TWICE)]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
def test_columns_that_it_does_not_take_are_refused_everywhere(record):
    unfit = {"boolean": pa.array([1]), "summable": pa.array(["a"]), "numeric": pa.array([True])}.get(record.takes)
    if unfit is None:
        assert record.takes in ("any", "sortable")
        assert by_period(record, pa.array(["a"])).null_count == 0
        return
    for consumer in CONSUMERS:
        with pytest.raises(tl.UsageError, match=refuses(consumer, record) or f"there is no {record.name} of '.*'"):
            consumer(record, unfit)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
def test_rows_may_be_in_any_order_unless_its_record_says_so(record):
    column = pa.array([True, False, None, True] if record.takes == "boolean" else [1, 2, None, 3])
    backwards = column.take(pa.array([3, 2, 1, 0]))
    same = by_period(record, column).to_pylist() == by_period(record, backwards).to_pylist()
    assert same == (record.order == "ignored")


def test_spellings_are_of_one_aggregate_each():
    spellings = [spelling for record in RECORDS for spelling in (record.name, *record.spellings)]
    assert len(spellings) == len(set(spellings)) == len(BY_SPELLING)
    for spelling, record in BY_SPELLING.items():
        (measure,) = read_measures({"x": ("v", spelling.upper())})
        assert measure.aggregate is record


def test_only_functions_of_rows_go_without_a_column():
    for record in RECORDS:
        if record.of_rows:
            assert read_measures({"x": record.name})[0].column is None
            continue
        with pytest.raises(tl.UsageError, match=f"{record.name} needs a column"):
            read_measures({"x": record.name})
        for written in (form for form in record.sql if form.endswith("({})")):
            with pytest.raises(tl.UsageError, match="needs an argument"):
                tl.sql(f"select {written.format('*')} from t group by period", t=pa.table({"start": [1], "end": [2]}))
