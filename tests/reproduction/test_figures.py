"""Every experiment runs, checks its answers, and is told in the report."""

import json

import pytest
from benchmarks.reproduce import page
from benchmarks.reproduce.contest import AnswersDifferError, Contest
from benchmarks.reproduce.figures import PAPERS, SCALES, Record
from benchmarks.reproduce.registry import chosen, figures
from benchmarks.reproduce.running import measure

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
