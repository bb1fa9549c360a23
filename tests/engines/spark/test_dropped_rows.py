"""Rows that are dropped or set aside take no part, in any two-table verb with keys, by any strategy."""

import random
from collections import Counter
from typing import Any

import pytest

from fuzz.spark_calls import Call, answers, random_table, rows_of, texts

pytestmark = pytest.mark.spark

POLICIES = [
    {"on_invalid": "drop"},
    {"empty": "drop"},
    {"on_invalid": "quarantine"},
    {"on_invalid": "drop", "empty": "point"},
]
RELATIONS = ["before", "intersects", "overlaps"]


def calls(verb):
    draw = random.Random(verb)
    strategies, hows = ("broadcast", "slices", "keys"), ("inner", "left", "right", "full", "semi", "anti")
    options: dict[str, list[dict[str, Any]]] = {
        "join": [{"how": how, "strategy": strategy} for how in hows for strategy in strategies],
        "count_join": [{"strategy": strategy} for strategy in strategies],
        "top_k": [{"k": 3, "ties": "all", "strategy": strategy} for strategy in strategies],
        "temporal_join": [{"how": how} for how in hows[:4]],
        "temporal_antijoin": [{}],
    }
    for given in options[verb]:
        policy = draw.choice(POLICIES[:2]) if verb == "join" else draw.choice(POLICIES)
        relation = {} if verb.startswith("temporal") else {"relation": draw.choice(RELATIONS)}
        tables = tuple(random_table(draw, number, "int", policy, 30) for number in range(2))
        yield Call(verb, tables, {"on": draw.choice([["k"], ["k", "j"]]), **relation, **policy, **given})


@pytest.mark.parametrize("verbs", [("join",), ("count_join", "top_k", "temporal_join", "temporal_antijoin")])
def test_only_admitted_rows_take_part(spark, verbs):
    drawn = [call for verb in verbs for call in calls(verb)]
    plans = [answers(call, tuple(spark.createDataFrame(table) for table in call.tables)) for call in drawn]
    for first in range(0, len(drawn), 6):
        found = rows_of(plans[first : first + 6])
        for call, mine in zip(drawn[first : first + 6], found, strict=True):
            expected = [Counter(map(tuple, texts(table))) for table in answers(call, call.tables)]
            assert mine == expected, call
