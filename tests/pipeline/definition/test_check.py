"""Pipeline files are checked whole: every fault with its place and a hint, nothing run, no secret shown."""

import subprocess
import sys
import textwrap

import pytest
import yaml

from timeloom.cli import main
from timeloom.model.period import Period
from timeloom.pipeline.definition.check import load
from timeloom.pipeline.definition.faults import PipelineError
from timeloom.pipeline.definition.models import Sink
from timeloom.pipeline.definition.secrets import Secrets
from tree import ROOT

SOUND = """\
engine: local
sources:
  a: {path: a.csv, period: [start, end], keys: key}
  b: {path: b.parquet, period: {start: s, end: e, closed: both, open_end: 9999-12-31}}
steps:
  pairs:
    join: {left: a, right: b, relation: iseql.before, delta: 5 minutes, on: key}
  counted: {sql: "select key, count(*) as n from pairs group by key"}
sinks:
  pairs: {path: out/pairs.parquet}
  counted: {path: out/counted, format: csv, partition_by: [key]}
"""


def faults_of(tmp_path, text, **environment):
    file = tmp_path / "p.yml"
    file.write_text(textwrap.dedent(text))
    with pytest.raises(PipelineError) as caught:
        load(str(file), Secrets(environment))
    return [fault.shown("p.yml") for fault in caught.value.faults]


def test_a_sound_file(tmp_path):
    (tmp_path / "p.yml").write_text(SOUND)
    pipeline = load(str(tmp_path / "p.yml"), Secrets({}))
    assert pipeline.sources["a"].keys == ["key"]
    assert pipeline.sources["b"].period.closed == "both"
    assert pipeline.sources["a"].period == Period("start", "end")
    assert pipeline.steps["pairs"].needs == ["a", "b"]
    assert pipeline.steps["counted"].needs == ["pairs"]
    assert pipeline.place("out/x") == str(tmp_path / "out/x")
    assert pipeline.place("~no-such-user.csv") == str(tmp_path / "~no-such-user.csv")
    assert pipeline.place("s3://bucket/x") == "s3://bucket/x"


def test_a_tilde_that_names_no_user_is_part_of_a_name(tmp_path):
    (tmp_path / "p.yml").write_text(SOUND.replace("path: a.csv", "path: ~no-such-user.csv"))
    assert load(str(tmp_path / "p.yml"), Secrets({})).sources["a"].path == "~no-such-user.csv"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("engine: local", "engin: local", "p.yml:1:1: engin: unknown key. Did you mean 'engine'?"),
        ("engine: local", "engine: flink", "p.yml:1:9: engine: 'flink' is unknown"),
        ("keys: key", "kyes: key", "p.yml:3:42: sources.a.kyes: unknown key. Did you mean 'keys'?"),
        ("[start, end]", "[start]", "p.yml:3:28: sources.a.period: period=['start'] has 1 parts"),
        ("closed: both", "closed: boht", "p.yml:4:32: sources.b.period: closed='boht' is unknown. Did you mean 'both'"),
        ("path: a.csv", "path: a.txt", "p.yml:3:3: sources.a: the format cannot be told from the path"),
        ("path: a.csv", "format: jdbc, table: t", "sources.a: a jdbc source needs url and table"),
        ("on: key}", "on: key, how: lefft}", "steps.pairs.join.how: 'lefft' is unknown. Did you mean 'left'"),
        ("on: key}", "on: key, algorithm: swep}", "algorithm: 'swep' is unknown. Did you mean 'sweep'"),
        ("on: key}", "on: key, strategy: slice}", "strategy: 'slice' is unknown. Did you mean 'slices'"),
        ("keys: key", "schema: {key: strng, start: int, end: int}", "column 'key' has the unknown type 'strng'. Did"),
        ("keys: key", "keys: key, schema: {start: int, end: int}", "the schema does not have 'key'"),
        ("left: a,", "left: aa,", "p.yml:7:18: steps.pairs.join.left: there is no table 'aa'. Did you mean 'a'?"),
        ("left: a,", "", "p.yml:7:5: steps.pairs.join: left is missing"),
        ("relation: iseql.before", "relation: iseql.befor", "unknown relation 'iseql.befor'. Did you mean"),
        ("relation: iseql.before", "relation: during", "relation 'during' takes no delta; these do"),
        ("delta: 5 minutes", "delta: 5 parsecs", "is no span; expected a number and a unit"),
        (
            "delta: 5 minutes",
            "dleta: 5",
            "p.yml:7:55: steps.pairs.join.dleta: join has no option 'dleta'. Did you mean",
        ),
        ("on: key", "on: [1]", "steps.pairs.join.on: [1] does not fit; on takes one or more names"),
        ("on: key", "overlap: maybe", "overlap takes true or false"),
        ("on: key", "suffixes: [a]", "suffixes takes a list of 2"),
        ("on: key", "on_invalid: quarantin", "Did you mean 'quarantine'?"),
        ("on: key", "batches: true", "join has no option 'batches'"),
        ("    join:", "    jion:", "p.yml:7:5: steps.pairs.jion: unknown verb. Did you mean 'join'"),
        ("from pairs", "from pears", "the query reads 'pears', which is no source and no step. Did you mean 'pairs'?"),
        ("select key", "selct key", "p.yml:8:18: steps.counted.sql: no valid SQL"),
        ("from pairs", "from pears temporal join pairs using (key)", "the query reads 'pears'"),
        ("from pairs", "from pairs [SYS, START 1, RANGE two]", "found 'two', expected a span"),
        ("  pairs: {path", "  paris: {path", "there is no table 'paris'. Did you mean 'pairs'?"),
        ("out/pairs.parquet", "a.csv", "sinks.pairs.path: this path and that of source a overlap"),
        ("out/pairs.parquet", "out/counted/x.csv", "this path and that of sink pairs overlap"),
        ("out/pairs.parquet}", "out/pairs, format: parquet, mode: append}", "mode append needs batch"),
        ("out/pairs.parquet}", "s3://b/pairs.parquet, mode: overwrite}", "cannot be replaced at once"),
        (
            "out/pairs.parquet",
            "'${NOWHERE}/x.parquet'",
            "p.yml:10:17: sinks.pairs.path: the environment variable NOWHERE",
        ),
        ("out/pairs.parquet", "${X}/x.parquet", "put quotes around a text with ${…}"),
        ("keys: key", "on_invalid: quarantine", "quarantine needs a place: give quarantine: {path: …} at the top"),
        ("engine: local\n", "", "sources"),
        ("  counted: {sql", "  a: {sql", "a source has this name, too"),
        ("  counted: {sql", "  1x: {sql", "a name has letters, digits and _"),
        ("  b: {path", "  a: {path", "p.yml:4:3: sources.a: given twice"),
        ("keys: key}", "keys: key", "no valid YAML"),
    ],
)
def test_a_fault_is_told_with_its_place_and_a_hint(tmp_path, old, new, expected):
    if old == "engine: local\n":
        text = SOUND.replace("path: a.csv", "format: arrow, path: a.arrow").replace(old, new)
        expected = "Spark reads no Arrow files"
    else:
        assert old in SOUND
        text = SOUND.replace(old, new, 1)
    assert any(expected in fault for fault in faults_of(tmp_path, text))


def test_all_faults_come_at_once_in_the_order_of_the_file(tmp_path):
    text = SOUND.replace("keys: key", "kyes: key").replace("delta:", "dleta:").replace("out/pairs.parquet", "out/x")
    found = faults_of(tmp_path, text)
    assert [fault.split(":")[1] for fault in found] == ["3", "7", "10"]


def test_circles_are_told(tmp_path):
    text = """\
        engine: local
        sources: {a: {path: a.csv}}
        steps:
          x: {sql: select * from y}
          y: {sql: select * from z}
          z: {sql: select * from x}
        sinks: {x: {path: x.csv}}
        """
    (found,) = faults_of(tmp_path, text)
    assert "steps wait for each other" in found
    assert found.count("needs") == 3


@pytest.mark.parametrize(
    "text", ["", "[]", "just words", "sources: 5\nsinks: {}", "sources: {a: 5}\nsinks: {a: 5}", "{}"]
)
def test_files_that_are_no_pipelines(tmp_path, text):
    assert faults_of(tmp_path, text)


def test_anchors_and_merges(tmp_path):
    text = SOUND.replace("{path: a.csv, ", "&left {path: a.csv, ").replace(
        "  b: {path: b.parquet, period: {start: s, end: e, closed: both, open_end: 9999-12-31}}",
        "  b: {<<: *left, path: b.csv}",
    )
    (tmp_path / "p.yml").write_text(text)
    pipeline = load(str(tmp_path / "p.yml"), Secrets({}))
    assert pipeline.sources["b"].path == "b.csv"
    assert pipeline.sources["b"].keys == ["key"]


def test_the_documented_example_is_sound(tmp_path):
    document = (ROOT / "docs/pipeline.md").read_text()
    (tmp_path / "p.yml").write_text(document.split("```yaml\n")[1].split("```")[0])
    pipeline = load(str(tmp_path / "p.yml"), Secrets({"DB_PASSWORD": "hush"}))
    assert list(pipeline.sources) == ["shifts", "calls", "people"]


def test_a_missing_file_is_told(capsys):
    assert main(["validate", "nowhere.yml"]) == 1
    assert "'nowhere.yml' does not exist" in capsys.readouterr().err


def test_validate_prints_faults_and_counts_them(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.yml").write_text(SOUND.replace("keys: key", "kyes: key"))
    assert main(["validate", "p.yml"]) == 1
    found = capsys.readouterr()
    assert found.out == ("p.yml:3:42: sources.a.kyes: unknown key. Did you mean 'keys'?\n")
    assert found.err == "p.yml: 1 fault\n"
    (tmp_path / "p.yml").write_text(SOUND)
    assert main(["validate", "p.yml"]) == 0
    assert capsys.readouterr().out == "p.yml: sound; 2 sources, 2 steps, 2 sinks, local engine\n"


def test_validate_starts_no_spark(tmp_path):
    (tmp_path / "p.yml").write_text(SOUND.replace("engine: local", "engine: spark"))
    program = (
        "import sys; from timeloom.cli import main; code = main(['validate', 'p.yml']); "
        "sys.exit(','.join({'numba', 'pyspark'} & set(sys.modules)) or code)"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_secrets_are_masked_in_faults(tmp_path):
    text = SOUND.replace("keys: key", "keys: key, options: {delimiter: '${TOKEN}', on: '${TOKEN}'}").replace(
        "relation: iseql.before", "relation: '${TOKEN}'"
    )
    found = "\n".join(faults_of(tmp_path, text, TOKEN='hush it\'s a "secret"'))
    assert "hush" not in found
    assert "unknown relation '${TOKEN}'" in found


def test_masking_knows_quoted_and_escaped_forms():
    secrets = Secrets({"P": "pa ss/w\"ö'rd"})
    assert secrets.fill("x${P}y$${P}") == "xpa ss/w\"ö'rdy${P}"
    for form in ("pa ss/w\"ö'rd", "pa%20ss/w%22%C3%B6%27rd", "pa+ss%2Fw%22%C3%B6%27rd", "pa ss/w\\\"\\u00f6'rd"):
        assert secrets.mask(f"<{form}>") == "<${P}>"


def chain(make):
    return "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} {make(', '.join([f'*a{n - 1}'] * 10))}\n" for n in range(1, 12))


QUERY = "engine: local\nsources: {a: {path: a.csv}}\nsteps: {x: {sql: 'QUERY'}}\nsinks: {x: {path: x.csv}}\n"
TOO_MUCH = {
    "aliases": (chain("[{}]".format), "more than 10,000 values, with aliases written out"),
    "merges": (chain("{{<<: [{}]}}".format).replace("[x, x]", "{k: v}"), "more than 10,000 values"),
    "brackets": ("[" * 100_000, "more than 30 deep"),
    "braces": ("{a: " * 50_000, "more than 30 deep"),
    "indents": ("".join(f"{' ' * n}a:\n" for n in range(500)), "more than 30 deep"),
    "dashes": ("- " * 50_000, "more than 30 deep"),
    "width": ("a: [" + "x," * 100_000 + "]", "more than 10,000 values"),
    "length": ("a: " + "x" * 10_000_000, "more than 262,144 bytes"),
    "references": ("name: '" + "${" * 100_000 + "'", "has no } that ends its name"),
    "digits": ("name: " + "1" * 20_000, "a number or date of 20,000 letters"),
    "sixties": ("name: " + ":".join(["1"] * 20_000), "a number or date of 39,999 letters"),
    "dates": ("name: 2024-13-45", "'2024-13-45' is no number or date"),
    "faults": ("".join(f"k{n}: 1\n" for n in range(4_000)), "100 faults"),
    "parentheses": (QUERY.replace("QUERY", "select " + "(" * 20_000), "more than 100 parentheses"),
    "sums": (QUERY.replace("QUERY", "select " + "a+" * 50_000 + "1 from a"), "the query has 100,015 letters"),
    "cases": (QUERY.replace("QUERY", "select " + "case when a then " * 2_900 + "1"), "steps.x.sql"),
    "binary": ("\x00\x01", "no valid YAML"),
}


@pytest.mark.parametrize("name", list(TOO_MUCH))
def test_a_file_that_stands_for_too_much_is_refused_before_it_is_built(tmp_path, name):
    import tracemalloc

    text, words = TOO_MUCH[name]
    (tmp_path / "p.yml").write_text(text)
    tracemalloc.start()
    try:
        with pytest.raises(PipelineError) as caught:
            load(str(tmp_path / "p.yml"), Secrets({}))
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()
    assert words in str(caught.value)


def test_many_sources_and_sinks_are_still_a_file(tmp_path):
    sources = "".join(f"  s{n}: {{path: a/{n}.csv}}\n" for n in range(1_200))
    sinks = "".join(f"  s{n}: {{path: o/{n}.csv}}\n" for n in range(1_200))
    (tmp_path / "p.yml").write_text(f"engine: local\nsources:\n{sources}sinks:\n{sinks}")
    assert len(load(str(tmp_path / "p.yml"), Secrets({})).sinks) == 1_200


ASKS = "sources: {a: {path: a.csv}}\nsteps: {x: {sql: 'QUERY'}}\nsinks: {x: {path: x, format: csv}}\n"
COMMANDS = {
    "select 1 from a; drop table a": "there are 2 statements",
    "select transform(key) using ''cat'' as (b) from a": "TRANSFORM … USING 'cat' runs a program",
    "map key using ''cat'' from a": "no valid SQL",
    "set x = 1": "SET is no query",
    "add jar ''x.jar''": "COMMAND is no query",
    "create table z as select * from a": "CREATE is no query",
    "insert into z select * from a": "INSERT is no query",
    "with y as (select 1) insert into z select * from y": "INSERT is no query",
    "execute immediate ''drop table x''": "COMMAND is no query",
    "select reflect(''java.lang.System'', ''exit'', 1) from a": "reflect calls Java",
    "select `java_method` (''x'') from a": "java_method calls Java",
    "select key from a where try_reflect(''x'') is null": "try_reflect calls Java",
}


@pytest.mark.parametrize("query", list(COMMANDS))
def test_queries_only_ask_unless_the_file_allows_more(tmp_path, query, capfd):
    text = ASKS.replace("QUERY", query)
    assert any(COMMANDS[query] in fault for fault in faults_of(tmp_path, text))
    (tmp_path / "p.yml").write_text(text + "allow_sql_commands: true\n")
    if COMMANDS[query] != "no valid SQL":
        load(str(tmp_path / "p.yml"), Secrets({}))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "query",
    [
        "select transform(array(1), x -> x + 1) from a",
        "values (1)",
        "(select 1) union (select 2);",
        "from a select key",
    ],
)
def test_plain_queries_are_allowed(tmp_path, query):
    text = ASKS.replace("QUERY", query)
    (tmp_path / "p.yml").write_text(text)
    load(str(tmp_path / "p.yml"), Secrets({}))


def test_the_key_that_allows_commands_is_a_truth_value(tmp_path):
    assert any("expected true or false" in fault for fault in faults_of(tmp_path, SOUND + "allow_sql_commands: 1\n"))


@pytest.mark.parametrize(("written", "label"), [("2024-01-31", "2024-01-31"), ("7", "7"), ("'x'", "x")])
def test_labels_of_batches_are_taken_as_they_are_written(written, label):
    sink = Sink.model_validate(yaml.safe_load(f"{{from: a, path: b, format: csv, mode: append, batch: {written}}}"))
    assert sink.batch == label
