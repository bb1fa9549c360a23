"""Secrets never appear: not in errors raised from Python, not with other blanks, not in addresses and settings."""

import stat
import traceback
from pathlib import Path

import pytest

from shift_pipeline import PIPELINE, report
from timeloom.cli import main
from timeloom.errors import StorageError
from timeloom.pipeline.definition.secrets import Secrets
from timeloom.pipeline.execution import run_file

BLANKS = ["  open   sesame ", "open\tsesame\n", " open sesame", "sesame  ", 'se"sa\\me  x', "é sesame"]


@pytest.mark.parametrize("value", BLANKS)
def test_blanks_hide_no_secret(value):
    secrets = Secrets({"P": value})
    secrets.fill("${P}")
    inner = value.strip()
    for text in (value, inner, " ".join(value.split()), repr(value), repr([value]), value.replace(" ", "\n")):
        shown = secrets.mask(f"<{text}>")
        assert "${P}" in shown
        assert "same" not in shown


@pytest.mark.parametrize("value", ["very-secret-place", "very  secret  place"])
def test_errors_raised_from_python_are_masked_with_all_that_led_to_them(here, value):
    (here / "p.yml").write_text(PIPELINE.replace("path: calls.parquet", "path: '${FOLDER}/calls.parquet'"))
    with pytest.raises(StorageError, match=r"\$\{FOLDER\}/calls.parquet' does not exist") as caught:
        run_file("p.yml", secrets=Secrets({"FOLDER": value}))
    told = "".join(traceback.format_exception(caught.value))
    assert "FileNotFoundError" in told
    assert "secret" not in told.replace("test_pipeline_secrets", "").replace("secrets", "")
    assert "secret" not in report(here)["error"]


def test_errors_that_keep_their_text_elsewhere_are_replaced():
    class Foreign(Exception):
        def __str__(self):
            return "told with hushhush"

    secrets = Secrets({"P": "hushhush"})
    secrets.fill("${P}")
    try:
        try:
            raise Foreign
        except Foreign as error:
            raise OSError(2, "no hushhush", "/hushhush/x") from error
    except OSError as error:
        error.add_note("hushhush noted")
        secrets.mask_error(error)
        told = "".join(traceback.format_exception(error))
    assert "hushhush" not in told.replace('raise OSError(2, "no hushhush", "/hushhush/x")', "")
    assert "Foreign: told with ${P}" in told


@pytest.mark.parametrize(
    ("address", "settings", "told", "shown"),
    [
        ("sc://h:1/;use_ssl=true;token=abc%20def", {}, "cannot reach sc://h:1/;token=abc%20def or abc def", "${token}"),
        ("jdbc:x://h/db?user=me&password=sesame", {}, "no login with sesame", "${password}"),
        ("jdbc:x://me:sesame@h/db", {}, "no login with sesame", "${password}"),
        (None, {"spark.hadoop.fs.s3a.secret.key": "sesame", "spark.x": "plain"}, "sesame plain", "plain"),
    ],
)
def test_tokens_and_settings_are_hidden(address, settings, told, shown):
    secrets = Secrets({})
    secrets.hide_address(address)
    secrets.hide_settings(settings)
    found = secrets.mask(told)
    assert shown in found
    assert not [word for word in ("sesame", "abc") if word in found]


def test_a_token_on_the_command_line_is_not_repeated(here, capsys, monkeypatch):
    def refuse(cluster, name):
        raise StorageError(f"cannot connect to {cluster.remote} with {cluster.conf}")

    monkeypatch.setattr("timeloom.pipeline.engines.spark.start_session", refuse)
    arguments = ["--remote", "sc://h:1/;token=opensesame", "--conf", "spark.my.password=opensesame2"]
    (here / "s.yml").write_text("sources: {a: {path: calls.parquet}}\nsinks: {a: {path: o, format: csv}}\nreport: r\n")
    assert main(["run", "s.yml", "--debug", *arguments]) == 1
    found = capsys.readouterr().err
    assert "token=${token}" in found
    assert "opensesame" not in found + (here / "r/report.json").read_text() + (here / "r/report.html").read_text()


def test_settings_reach_a_new_jvm_by_a_file_that_only_we_can_read(monkeypatch):
    import os

    from timeloom.pipeline.engines.session import SUBMIT, settings_file

    monkeypatch.delenv(SUBMIT, raising=False)
    with settings_file({"spark.my.password": " a=b\\c\n#é"}):
        words = os.environ[SUBMIT].split()
        assert words[::2] == ["--properties-file", "--load-spark-defaults"]
        assert words[-1] == "pyspark-shell"
        file = Path(words[1])
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert file.read_text() == "spark.my.password=\\u0020a\\u003db\\u005cc\\u000a\\u0023é\n"
    assert SUBMIT not in os.environ
    assert not file.exists()
