"""A calendar whose days are darker the more rows begin on them: a column for each week, a strip for each year."""

from datetime import date, timedelta
from typing import Any

import numpy as np

EPOCH = date(1970, 1, 1)
LEVELS = 4
ONE_STRIP = 54 * 7
"""So many days stand in one strip."""


def days_view(picture: dict[str, Any]) -> dict[str, Any]:
    """The strips of a calendar, its levels, and its fullest day."""
    counts = {EPOCH + timedelta(days=int(day)): int(count) for day, count in picture["days"]}
    first, last = min(counts), max(counts)
    levels = _levels(list(counts.values()))
    spans = [(first, last)]
    if (last - first).days >= ONE_STRIP:
        years = range(first.year, last.year + 1)
        spans = [(max(first, date(year, 1, 1)), min(last, date(year, 12, 31))) for year in years]
    most = max(counts, key=lambda day: counts[day])
    return {
        "kind": "days",
        "strips": [_strip(*span, counts, levels, yearly=len(spans) > 1) for span in spans],
        "levels": levels,
        "most": {"count": counts[most], "day": f"{most:%a} {most.day} {most:%b %Y}"},
        "zone": " (UTC)" if picture["axis"] == "zoned" else "",
        "range": f"{first.day} {first:%b %Y} – {last.day} {last:%b %Y}",
    }


def _levels(counts: list[int]) -> list[int]:
    """The least count of each shade: as many days in each, unless counts are few."""
    parts = np.quantile(counts, [number / LEVELS for number in range(LEVELS)], method="inverted_cdf")
    return [1, *sorted({int(part) for part in parts[1:]} - {1})]


def _strip(first: date, last: date, counts: dict[date, int], levels: list[int], *, yearly: bool) -> dict[str, Any]:
    monday = first - timedelta(days=first.weekday())
    weeks = (last - monday).days // 7 + 1
    if yearly:  # strips below each other begin and end alike
        monday = date(first.year, 1, 1) - timedelta(days=date(first.year, 1, 1).weekday())
        weeks = 53 + (monday + timedelta(weeks=53) <= date(first.year, 12, 31))
    days = [first + timedelta(days=number) for number in range((last - first).days + 1)]
    months = [day for day in days if day.day == 1 and (day - monday).days // 7 < 0.94 * weeks]
    return {
        "label": str(first.year) if yearly else "",
        "weeks": weeks,
        "cells": [_cell(day, monday, counts.get(day, 0), levels) for day in days],
        "months": [{"left": 100 * ((day - monday).days // 7) / weeks, "label": f"{day:%b}"} for day in months],
    }


def _cell(day: date, monday: date, count: int, levels: list[int]) -> dict[str, Any]:
    week, weekday = divmod((day - monday).days, 7)
    shade = sum(count >= level for level in levels) if count else 0
    return {"x": week, "y": weekday, "shade": shade, "title": f"{day:%a} {day.day} {day:%b %Y}: {count:,}"}
