"""``tcgp experiment``, as a user types it."""

import subprocess
import sys

import pytest

from tcgp.cli import main

SMALL = ["--replicates", "1", "--iterations", "2", "--problems", "branin"]


def test_list_names_every_experiment(capsys):
    assert main(["experiment", "list"]) == 0
    out = capsys.readouterr().out
    for name in ("figure1", "table1", "ablation", "methods", "ei-highdim", "timing"):
        assert f"\n{name} " in out


def test_run_and_report(tmp_path, capsys):
    where = ["--results", str(tmp_path / "results")]
    assert main(["experiment", "run", "methods", *SMALL, "--methods", "GP", "tcgp:delta=0.1", *where]) == 0
    assert "2 results computed, 0 were there" in capsys.readouterr().err
    output = ["--output", str(tmp_path / "report")]
    problem = ["--problems", "branin", "--methods", "GP", "tcgp:delta=0.1"]
    assert main(["experiment", "report", "methods", *problem, *where, *output]) == 0
    assert capsys.readouterr().out.strip().endswith("report.html")
    assert (tmp_path / "report" / "report.html").exists()
    # The report is about what was run, also where that is less than the plan.
    assert (
        "2 iterations after 10 d uniform points, 1 runs" in (tmp_path / "report" / "methods.md").read_text()
    )


def test_run_and_report_as_published(tmp_path, capsys):
    where = ["--results", str(tmp_path / "results"), "--problems", "branin", "--methods", "GP"]
    flags = ["--as-published", "--maximizer", "multistart"]
    assert main(["experiment", "run", "methods", *SMALL, *where, *flags, "--jobs", "1"]) == 0
    assert "1 results computed" in capsys.readouterr().err
    assert main(["experiment", "run", "methods", *SMALL, *where, *flags]) == 0
    assert "0 results computed, 1 were there" in capsys.readouterr().err
    assert main(["experiment", "report", "methods", *where]) == 2  # nothing of the usual kind is there
    output = ["--output", str(tmp_path / "report")]
    assert main(["experiment", "report", "methods", *where, *flags, *output]) == 0
    page = (tmp_path / "report" / "methods-as-published.md").read_text()
    assert "tcgp experiment run methods --as-published --maximizer multistart" in page


def test_the_other_commands_do_not_load_the_experiments():
    code = (
        "import sys; from tcgp.cli import main; main(['--help']);"
        "print([m for m in sys.modules if m.startswith(('tcgp_experiments', 'tcgp.cli.experiment'))])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["run", "metods"], "no experiment 'metods'"),
        (["run", "methods", "--methods", "gpp"], "no method 'gpp'"),
        (["run", "methods", "--methods", "tcgp:dleta=2"], "no option 'dleta'"),
        (["run", "methods", "--problems", "branni"], "no problem 'branni'"),
        (["run", "methods", "--shard", "3/2"], "must be i/N"),
        (["run", "methods", "--replicates", "0"], "must be a whole number >= 1"),
        (["run", "methods", "--results", "/dev/null/x"], "results cannot be written"),
        (["run", "methods", "--methods", "peer:nobody"], "no peer 'peer:nobody'"),
        (["report", "methods", "--results", "/nowhere"], "no results of 'methods'"),
    ],
)
def test_mistakes_end_in_one_sentence_and_code_2(arguments, word, capsys):
    assert main(["experiment", *arguments]) == 2
    err = capsys.readouterr().err
    assert word in err
    assert err.count("\n") == 1
