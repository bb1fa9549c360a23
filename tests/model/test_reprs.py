"""How objects show themselves: pictures are true, HTML is escaped."""

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
    assert repr(table) == "BitemporalTable(key id, versions 1, latest 7)"
    assert "versions" in table._repr_html_()
