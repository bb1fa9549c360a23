"""How objects show themselves: pictures are true, HTML is escaped."""

import pyarrow as pa
import pytest

import timeloom as tl
from timeloom.model.names import ALL_NAMES
from timeloom.model.picture import example


@pytest.mark.parametrize("name", ALL_NAMES)
def test_the_bars_of_a_relation_are_in_it(name):
    relation = tl.relation(name)
    left, right = example(relation)
    assert relation.holds(left, right)
    assert str(relation).splitlines()[0] == repr(relation)
    assert len(str(relation).splitlines()) == 3
    assert relation._repr_html_().count("<rect") == 2


def test_a_relation_that_no_short_bars_are_in_has_no_picture():
    assert str(tl.relation("iseql.before", delta="5 minutes")).count("\n") == 0
    far = tl.Relation(start_end=(1000, 2000))
    assert (str(far), "<svg" in far._repr_html_()) == (repr(far), False)


def test_plans_periods_and_indexes_show_themselves_in_html():
    plan = tl.Explanation("join", "local", {"rows": 5000, "on": "<b>"}, ("few < many",))
    assert all(text in plan._repr_html_() for text in ("5,000", "&lt;b&gt;", "few &lt; many"))
    assert tl.Period("<a>", "b", closed="neither")._repr_html_() == "<code>(&lt;a&gt;, b)</code>"
    assert "<td" in tl.StabForest.build([1, 2], [5, 6])._repr_html_()
    table = tl.BitemporalTable("id")
    table.insert({"id": 1, "app_start": 1, "app_end": 5}, sys=7)
    assert repr(table) == "BitemporalTable(1 version, key=id, latest=7)"
    assert repr(tl.BitemporalTable(["a", "b"], without_overlaps=True)).startswith("BitemporalTable(empty, key=a, b, ")
    assert "versions" in table._repr_html_()
    assert repr(table.index()) == "BitemporalIndex(1 row, latest=7, retroactive=True, checkpoints=0)"
    assert "app_start, app_end, sys_start" in table.index()._repr_html_()


def test_windows_show_themselves_in_a_line():
    rows = 9
    history = pa.table(
        {name: [0] * rows for name in ("sys_start", "app_start")} | {"sys_end": [5] * rows, "app_end": [5] * rows}
    )
    index, slides = tl.BitemporalIndex(history), {"sys": tl.Slide(0, 1, 9), "app": tl.Slide(0, 0, 0), "ratio": (1, 0)}
    query = index.windows(**slides, steps=1)
    assert repr(query) == "WindowQuery(2 windows, the first sys=(0, 1), app=(0, 0))"
    assert [repr(step) for step in query] == [
        "Step(0, sys=(0, 1), app=(0, 0), entered=[0, 1, 2, 3, 4, 5, 6, 7, … 9 rows], left=[])",
        "Step(1, sys=(9, 10), app=(0, 0), entered=[], left=[0, 1, 2, 3, 4, 5, 6, 7, … 9 rows])",
    ]
    live = index.live(**slides, steps=2)
    assert repr(live) == "LiveWindows(0 of 3 steps given, open)"
    assert len(list(live.finish())) == 1
    assert repr(live) == "LiveWindows(1 of 3 steps given, ended)"
