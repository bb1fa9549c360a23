"""Every experiment runs, checks its answers, and is told in the report."""

import html
import json
import math
import re
import xml.etree.ElementTree
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.reproduce import drawing, evidence, page
from benchmarks.reproduce.contest import AnswersDifferError, Contest
from benchmarks.reproduce.figures import PAPERS, SCALES, Record
from benchmarks.reproduce.machine import machine
from benchmarks.reproduce.reasons import WHY
from benchmarks.reproduce.registry import chosen, figures
from benchmarks.reproduce.rule import grade_of, grade_of_growth
from benchmarks.reproduce.running import imported, kept, measure, run_all

FIGURES = figures()


@pytest.mark.parametrize("figure", FIGURES, ids=lambda one: one.name)
def test_a_figure_runs_and_is_told(figure):
    result = measure(figure, "tiny")
    assert set(figure.sizes) == set(SCALES)
    assert result["findings"] or result["reason"]
    assert result["points"] or result["reason"]
    told = page.page([(figure, result)], {"python": "3"}, "tiny")
    assert figure.command("tiny").split("--")[1].strip() in told
    assert result["verdict"] in told
    assert ("<svg" in told) == bool(result["points"])
    json.dumps(result)


def test_every_paper_has_figures_with_names_of_their_own():
    assert {figure.paper for figure in FIGURES} <= set(PAPERS)
    assert len({figure.name for figure in FIGURES}) == len(FIGURES)


def test_the_report_loads_nothing_from_elsewhere():
    (figure,) = chosen("dip", "example")
    told = page.page([(figure, measure(figure, "tiny"))], {"python": "3"}, "tiny")
    assert "<svg" in told
    assert "src=" not in told
    assert "href='http" not in told
    assert "@import" not in told


def test_the_report_fits_a_narrow_screen():
    (figure,) = chosen("dip", "example")
    told = page.page([(figure, measure(figure, "tiny"))], {"python": "3"}, "tiny")
    assert "<meta name='viewport' content='width=device-width'>" in told
    assert "<table class='summary'>" in told
    assert "@media (max-width: 700px)" in told


def test_a_small_picture_shows_what_the_large_one_does():
    (figure,) = chosen("dip", "example")
    points = measure(figure, "tiny")["points"]
    large, small = drawing.svg(figure, points), drawing.svg(figure, points, labels=False)
    texts = [re.findall(r">([^<>]+)</text>", picture) for picture in (large, small)]
    assert texts[0] == texts[1] != []
    assert len(small) < len(large) / 2
    assert xml.etree.ElementTree.fromstring(small).tag.endswith("svg")


def test_a_run_goes_on_where_it_stopped(tmp_path):
    (figure,) = chosen("dip", "example")
    ((_, first),) = run_all([figure], "tiny", tmp_path, again=False)
    (file,) = tmp_path.iterdir()
    written = file.stat().st_mtime_ns
    ((_, second),) = run_all([figure], "tiny", tmp_path, again=False)
    assert first == second
    assert first["verdict"] == "confirmed"
    assert file.stat().st_mtime_ns == written
    file.write_text(json.dumps({**first, "code": "another"}))
    assert kept(figure, "tiny", tmp_path) is None


def test_a_figure_that_takes_too_long_is_told_as_such(tmp_path):
    (figure,) = chosen("dip", "example")
    ((_, result),) = run_all([figure], "tiny", tmp_path, again=False, minutes=0.0001)
    assert result["verdict"] == "failed"
    assert "not ended after 0.0001 minutes" in result["reason"]


def test_results_are_made_anew_only_if_what_they_depend_on_has_changed():
    depends = {file.stem for file in imported("benchmarks.reproduce.dip_data_sets", set())}
    assert {"dip_data_sets", "dip_joins", "dip_ways", "histories", "interval_joins", "blocks", "contest"} <= depends
    assert depends.isdisjoint({"counting", "thesis", "page"})


def test_a_figure_that_fails_is_told_as_such(tmp_path):
    (figure,) = chosen("dip", "example")
    ((_, result),) = run_all([replace(figure, number="none")], "tiny", tmp_path, again=False)
    assert result["verdict"] == "failed"
    assert "there is no figure 'none'" in result["reason"]


def evidence_of(folder, figure, result, scale="tiny"):
    page_of_run = folder / "evidence.md"
    if not page_of_run.exists():
        page_of_run.write_text(f"before\n{evidence.BEGIN}\nan old run\n{evidence.END}\nafter\n")
    evidence.write(page_of_run, [(figure, result)], machine(), scale)
    return page_of_run.read_text()


def test_figures_that_are_run_again_take_the_place_of_their_rows_only(tmp_path):
    (one,), (other,) = chosen("dip", "example"), chosen("sweeping", "10 and 11")
    result = measure(one, "tiny")
    evidence_of(tmp_path, one, {**result, "measured": "yesterday", "code": "1234567890"})
    evidence_of(tmp_path, other, {**measure(other, "tiny"), "measured": "today", "code": "abcdefabcdef"})
    text = evidence_of(tmp_path, one, {**result, "measured": "tomorrow", "code": "0123456789"})
    assert "yesterday" not in text
    assert "| tomorrow | `01234567` |" in text
    assert "| today | `abcdefab` |" in text
    assert "2 figures: 1 not comparable, 1 confirmed" in text
    assert "today" not in evidence_of(tmp_path, one, result, "small")


def test_the_page_of_evidence_has_the_last_run_only(tmp_path):
    (figure,) = chosen("dip", "example")
    text = evidence_of(tmp_path, figure, measure(figure, "tiny"))
    assert "an old run" not in text
    assert text.startswith("before")
    assert text.endswith("after\n")
    assert "| example | Comparisons in the running example | confirmed |" in text


def test_every_row_of_the_evidence_that_is_in_part_says_why():
    rows = evidence.known_rows(Path("docs/evidence/run.json"), "full")
    names = {figure.name for figure in FIGURES}
    assert set(rows) == names
    assert set(WHY) <= names
    assert [name for name, row in rows.items() if row["verdict"] != "confirmed" and not row["reason"]] == []
    assert [name for name, row in rows.items() if "in part" in row["verdict"] and name not in WHY] == []


def test_the_reason_in_words_is_told_in_the_page_and_in_the_evidence(tmp_path):
    (figure,) = chosen("sweeping", "14")
    record = Record()
    record.judge("factor", "theirs / ours", "10 x", 2, 10)
    result = {**measure(chosen("dip", "example")[0], "tiny"), **record.as_json()}
    assert WHY[figure.name] in evidence_of(tmp_path, figure, result)
    assert html.escape(WHY[figure.name]) in page.page([(figure, result)], {"python": "3"}, "tiny")
    assert WHY[figure.name] not in evidence_of(tmp_path, figure, {**result, "verdict": "confirmed"})


def test_unknown_figures_are_refused_with_what_there_is():
    with pytest.raises(SystemExit, match="no figure '99' of counting; there are: table 1, 2, 3"):
        chosen("counting", "99")


def test_ways_that_differ_are_not_timed():
    with pytest.raises(AnswersDifferError, match="wrong does not answer as right does"):
        Contest({"right": lambda: 1, "wrong": lambda: 2}).race()


def test_slow_ways_are_left_out_from_then_on():
    contest = Contest({"fast": lambda: 1, "slow": lambda: sum(range(10**5)) * 0 + 1}, limit=1e-4)
    assert set(contest.race()) == {"fast", "slow"}
    assert set(contest.race()) == {"fast"}


@pytest.mark.parametrize(
    ("grades", "verdict"),
    [
        (["yes", "yes"], "confirmed"),
        (["yes", "better", "aside"], "confirmed"),
        (["yes", "no"], "confirmed in part"),
        (["partly"], "confirmed in part"),
        (["no", "no"], "refuted"),
        ([], "not comparable"),
    ],
)
def test_verdicts_come_of_findings(grades, verdict):
    record = Record()
    for grade in grades:
        record.finding("it is faster", "2 x", "3 x", grade)
    assert record.verdict == verdict


@pytest.mark.parametrize(
    ("kind", "stated", "holds", "same_way", "neither"),
    [
        ("factor", 10, (8, 500), (7.9, 1), (0.9,)),
        ("more", 1, (1, 9), (0.99, 0.7), (0.6,)),
        ("much", 1, (3, 100), (2.9, 1), (0.9,)),
        ("grows", 1, (1.2, 3), (1.1,), (1,)),
        ("near", 1, (0.01, 1.5), (1.6, 5), (5.1,)),
        ("about", 6, (4, 9), (3, 12), (1, 31)),
        ("conceded", 1, (1, 7), (), ()),
        ("little", 1, (0.7, 1.5), (), (0.6,)),
    ],
)
def test_one_rule_for_all_statements_of_a_kind(kind, stated, holds, same_way, neither):
    for grade, ratios in (("yes", holds), ("partly", same_way), ("no", neither)):
        assert {grade_of(kind, ratio, stated) for ratio in ratios} <= {grade}


def test_growth_is_judged_by_its_exponent():
    assert [grade_of_growth(exponent, 2, math.inf) for exponent in (1.75, 1.6, 1.4)] == ["yes", "partly", "no"]
    assert [grade_of_growth(exponent, 0, 1) for exponent in (0.3, 1.25, 1.5, 1.6)] == ["yes", "yes", "partly", "no"]


def test_what_is_better_than_stated_is_told():
    assert {grade_of("conceded", 0.9), grade_of("little", 1.6)} == {"better"}
    record = Record()
    record.judge("conceded", "ours / rival", "above 1 x", 0.5)
    assert record.as_json()["verdict"] == "confirmed"
    assert page.reason(record.as_json()) == "Better than stated: ours / rival: 0.5 x (paper: above 1 x)"
    record.judge("factor", "rival / ours", "10 x", 2, 10)
    told = "1 of 2 statements hold. rival / ours: 2 x (paper: 10 x). Better than stated: ours / rival: 0.5 x"
    assert page.reason(record.as_json()).startswith(told)
    assert record.as_json()["verdict"] == "confirmed in part"
