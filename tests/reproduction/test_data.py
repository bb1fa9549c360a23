"""Data are as the papers' tables have them."""

import numpy as np
import pytest
from benchmarks.data import events, histories, real_flights
from benchmarks.data.orders import orders
from benchmarks.data.statistics import COUNTING, SWEEPING, drawn

from timeloom.kernels.sequenced.dip import partition
from timeloom.model.ticks import FOREVER

TABLES = [*COUNTING.values(), *SWEEPING.values()]
CLOSE = {"rows": 0, "domain": 0.001, "shortest": 0, "longest": 0, "mean": 0.01, "points": 0.03}


@pytest.mark.parametrize("table", TABLES, ids=lambda one: one.name)
def test_drawn_statistics_are_those_of_the_table(table):
    wanted = table.scaled(min(table.rows, 100_000))
    found = drawn(wanted.draw())
    for name, tolerance in CLOSE.items():
        assert found[name] == pytest.approx(getattr(wanted, name), rel=tolerance), name


def test_tables_are_the_papers():
    """Rows, domain, shortest, longest and mean length, distinct points."""
    printed = {
        "FLIGHTS": (445_827, 2_750_280, 1_261, 42_301, 8_791, 41_975),
        "BOOKS": (2_312_602, 31_507_200, 1, 31_406_400, 2_201_320, 5_330),
        "GREEND": (110_115_441, 283_356_410, 1, 59_468_008, 16, 182_028_123),
        "WEBKIT": (2_347_346, 461_829_284, 1, 461_815_512, 33_206_300, 174_471),
        "flight": (58_000, 812_000, 61, 86_000, 8_000, 10_000),
        "inc": (84_000, 9_000, 2, 574, 184, 2_700),
        "web": (1_200_000, 352_000_000, 1, 352_000_000, 60_000_000, 110_000),
        "feed": (3_700_000, 8_600, 1, 8_500, 432, 5_600),
        "basf": (5_300_000, 16_000_000, 1, 16_000_000, 127_000, 760_000),
    }
    known = {one.name: (one.rows, one.domain, one.shortest, one.longest, one.mean, one.points) for one in TABLES}
    assert known == printed


def test_scaled_tables_keep_their_shape():
    greend = COUNTING["GREEND"]
    assert COUNTING["BOOKS"].scaled(100_000).longest == 31_406_400
    assert not greend.scaled(10**6).pooled
    assert greend.scaled(10**7).longest == pytest.approx(59_468_008 * 10**7 / greend.rows, rel=1e-6)


@pytest.mark.parametrize("name", ["BOOKS", "WEBKIT", "web", "feed"])
def test_lengths_have_a_long_tail(name):
    """Half of the rows are shorter than the mean by far, some reach across the domain."""
    wanted = {**COUNTING, **SWEEPING}[name].scaled(50_000)
    starts, ends = wanted.draw()
    lengths = ends - starts
    assert np.median(lengths) < 0.9 * wanted.mean
    assert (lengths > 3 * wanted.mean).mean() > 0.01


@pytest.mark.parametrize("table", TABLES, ids=lambda one: one.name)
def test_rows_come_in_no_order(table):
    """Nobody who sorts finds the work done."""
    starts, _ = table.scaled(20_000).draw()
    assert 0.4 < (np.diff(starts) >= 0).mean() < 0.65


def test_starts_of_the_incumbents_cluster():
    starts, _ = SWEEPING["inc"].draw()
    together = np.unique(starts, return_counts=True)[1]
    assert 0.5 < (together >= 10).mean() < 0.75


def test_flights_have_the_density_of_the_paper():
    starts, ends = events.dense_flights(200_000)
    assert starts.size / np.unique(starts).size == pytest.approx(11.6, rel=0.01)
    assert (ends - starts - 1).min() == 0
    assert (ends - starts - 1).max() == 1_350


def test_all_flights_are_ten_years_of_days():
    starts, ends = events.flights(200_000)
    lengths = ends - starts - 1
    assert (lengths.min(), lengths.max()) == (0, 1_350)
    assert pytest.approx(11.6, rel=0.01) == events.FLIGHTS / events.MINUTES
    assert starts.max() // events.DAY == 3_649
    by_hour = np.bincount(starts % events.DAY // 60, minlength=24)
    assert by_hour[8:18].sum() > 5 * np.delete(by_hour, np.s_[5:21]).sum(), "days are busier than nights"


def test_unrest_is_sixty_years_of_days_and_mostly_short():
    days, ended = events.unrest()
    lengths = ended - days - 1
    assert (days.size, lengths.max(), lengths.min()) == (62_141, 18_407, 0)
    assert days.max() / 365.25 == pytest.approx(59.7, abs=0.2)
    assert np.median(lengths) <= 1


def test_gap_data_are_disjoint_groups_by_turns():
    for power in range(5):
        sides = events.gap_data(64, 2**power)
        assert [side[0].size for side in sides] == [32, 32]
        together = np.sort(np.concatenate([side[0] for side in sides]))
        assert np.array_equal(together[1:], np.sort(np.concatenate([side[1] for side in sides]))[:-1]), "disjoint"
    left, right = events.gap_data(64, 4)
    assert left[0].tolist()[:5] == [0, 2, 4, 6, 16]
    assert right[0].tolist()[:5] == [8, 10, 12, 14, 24]
    assert np.all(np.diff(np.sort(np.concatenate([left[0], right[0]]))) == 2)


def test_feed_has_three_classes_of_lengths():
    starts, ends = histories.feed(200_000, 1)
    lengths = ends - starts
    assert (lengths < 10).mean() == pytest.approx(0.9, abs=0.005)
    assert (lengths > 1_000).mean() == pytest.approx(0.0045, abs=0.001)
    assert ((lengths >= 10) & (lengths <= 1_000)).mean() == pytest.approx(0.095, abs=0.005)
    assert (lengths.min(), lengths.max()) == pytest.approx((1, 10_000), rel=0.01)
    assert starts.max() == pytest.approx(200_000, rel=0.001), "as many instants as rows"
    assert np.bincount(starts // 20_000) == pytest.approx(20_000, rel=0.05), "starts are even"
    assert histories.feed(1_000, 1, timeless=2)[1][:2].tolist() == [1_000, 1_000]


def test_time_intervals_are_days_months_years_and_more():
    starts, ends = histories.time_intervals()
    assert set((ends - starts).tolist()) == {1, 28, 29, 30, 31, 365, 366, 547, 548, 730, 731}
    assert ends.max() == 21_915
    assert (ends - starts == 1).sum() == 21_915


def test_contacts_are_equal_or_disjoint_and_fifty_one_at_once():
    starts, ends = histories.contacts(20_000)
    assert np.all(ends - starts == 20)
    assert np.all(np.diff(np.unique(starts)) >= 20)
    assert partition(starts, ends).depth == 51


def test_power_is_short_but_for_eight_rows():
    starts, ends = histories.power(50_000)
    lengths = ends - starts
    assert (lengths == lengths.max()).sum() == 8
    assert np.sort(lengths)[:-8].mean() == pytest.approx(1.7, rel=0.01)
    assert histories.POWER.domain / 86_400 == pytest.approx(1_748, abs=1), "January 2010 to October 2014"


def test_blocks_grow():
    starts, ends = histories.growing_blocks(5, 1_000, 1)
    assert np.bincount(starts // 1_000).tolist() == [1_000, 2_000, 3_000, 4_000, 5_000]
    assert ((ends - starts) < 10).mean() == pytest.approx(0.9, abs=0.01)
    assert histories.growing_blocks(14, 100, 1)[0].size * 1_000 == 10_500_000, "the paper's, of 100,000 granules"


def test_nested_rows_need_a_partition_each():
    assert partition(*histories.nested(50)).depth == 50


def test_orders_have_five_system_times_for_each_application_time():
    history = orders(20_000)
    assert (history.sys_start == 1).sum() == 4_000
    assert history.latest / history.instants == pytest.approx(5, rel=0.01)
    begun = np.unique(history.sys_start[history.sys_start > 1], return_counts=True)[1]
    assert begun.max() <= 2
    assert 0.7 < begun.size / history.latest <= 1, "nearly every system time has an event"
    loaded = history.sys_start == 1
    spread = np.bincount(history.app_start[loaded] * 4 // history.instants, minlength=4)
    assert spread == pytest.approx(1_000, rel=0.15), "application times are even"
    assert (history.app_end[loaded] == FOREVER).mean() == pytest.approx(0.1, abs=0.02)
    assert (history.sys_end == FOREVER).mean() > 0.1


def test_real_flights_are_a_year():
    starts, ends = real_flights.real_flights()
    assert starts.size > 300_000
    assert 360 < (starts.max() - starts.min()) / 86_400 < 367
    assert (ends - starts).min() >= 20 * 60
