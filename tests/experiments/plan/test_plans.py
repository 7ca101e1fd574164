"""The plans by name, and the methods they name."""

import subprocess
import sys

import pytest

from tcgp_experiments.errors import ExperimentError
from tcgp_experiments.plan import plans
from tcgp_experiments.plan.methods import Method
from tcgp_experiments.plan.tasks import RunTask


def paths(name):
    return {task.path for task in plans.get(name).tasks()}


@pytest.mark.parametrize(
    "name",
    [
        *(
            "figure1",
            "table1",
            "table2",
            "global",
            "ablation",
            "methods",
            "rules",
            "delta-regp",
            "delta-tcgp",
        ),
        *("ei-more", "ei-highdim", "ucb", "timing"),
    ],
)
def test_every_experiment_of_the_paper_has_a_plan(name):
    plan = plans.get(name)
    assert plan.name == name
    assert plan.mirrors


def test_the_paper_s_sizes_are_the_defaults():
    assert len(list(plans.get("methods").tasks())) == 4 * 5 * 100
    assert len(list(plans.get("ablation").tasks())) == 2 * 4 * 100
    assert plans.get("ei-highdim").iterations == 150
    assert len(list(plans.get("table1").tasks())) == 5 * 100


def test_experiments_share_the_runs_they_have_in_common():
    # The same GP run on Goldstein-Price serves the comparison, the ablation and the larger comparison.
    assert len(paths("methods") & paths("ei-more")) == 2000
    assert len(paths("methods") & paths("ablation")) == 2 * 2 * 100
    # Rule 0 with delta = 0.1 is tcGP with delta = 0.1, whatever it is called.
    assert len(paths("rules") & paths("delta-tcgp")) == 4 * 100


def test_plans_and_claims_load_nothing_that_runs_them():
    code = (
        "import sys; from tcgp_experiments.plan import claims, plans;"
        "print([m for m in sys.modules if m.startswith(('tcgp_experiments.run', 'tcgp_experiments.report'))])"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert loaded.strip() == "[]"


def test_a_row_of_a_table_knows_its_level_and_its_method():
    row = plans.get("table2").rows[1]
    assert (row.level, row.method.label) == (0.0, "tcGP δ=0.05")


def test_ucb_and_ei_runs_are_kept_apart():
    assert not paths("ucb") & paths("ei-more")


def test_a_method_is_known_by_what_it_computes_not_by_its_label():
    assert Method("a", "tcgp", {"delta": 0.05}) == Method("b", "tcgp")
    assert Method("a", "tcgp", {"delta": 0.1}) != Method("a", "tcgp")
    assert Method("a", "tcgp", {"delta": 0.1, "rule": 2}).slug == "tcgp,delta=0.1,rule=2"


def test_methods_are_read_from_text():
    assert Method.parse("tcgp:delta=0.1,search=paper").settings["search"] == "paper"
    added = plans.get("methods", methods=("+tcgp:rule=1",))
    assert [m.label for m in added.methods] == ["GP", "bcrGP", "onGP", "reGP", "tcGP", "tcgp:rule=1"]
    only = plans.get("methods", methods=("reGP", "tcregp"))
    assert [m.name for m in only.methods] == ["regp", "tcregp"]


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: plans.get("metods"), "methods"),
        (lambda: plans.get("methods", methods=("tcpg",)), "tcgp"),
        (lambda: plans.get("methods", methods=("tcgp:detla=1",)), "delta"),
        (lambda: plans.get("methods", methods=("tcgp:delta",)), "delta=..."),
        (lambda: plans.get("methods", methods=("tcgp:delta=7",)), "delta must be a number in .*, got 7"),
        (lambda: plans.get("methods", methods=("tcgp:search=slow",)), "search must be one of .*, got 'slow'"),
        (lambda: plans.get("methods", methods=("peer:botroch",)), "peer:botorch"),
        (lambda: plans.get("table1", iterations=3), "rows"),
    ],
)
def test_what_is_unknown_is_refused_with_what_there_is(call, word):
    with pytest.raises(ExperimentError, match=word) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_a_longer_or_more_detailed_run_serves_a_shorter_task():
    task = RunTask("branin", 0, Method("GP", "gp"), "ei", 10)
    stored = {"spec": task.spec, "iterations": 12, "scores": None}
    assert task.accepts(stored)
    assert not task.accepts(stored | {"iterations": 9})
    assert not RunTask("branin", 0, Method("GP", "gp"), "ei", 10, diagnostics=True).accepts(stored)
    assert not RunTask("branin", 0, Method("tcGP", "tcgp"), "ei", 10).accepts(stored)


@pytest.mark.parametrize("name", ["table1", "table2", "methods", "ablation", "delta-regp", "ucb"])
def test_results_as_published_are_never_mixed_with_others(name):
    usual, published = plans.get(name), plans.get(name, as_published=True)
    assert published.page == f"{name}-as-published" + ("" if name.startswith("table") else "-smc")
    assert published.command == f"{name} --as-published"
    for ours, theirs in zip(usual.tasks(), published.tasks(), strict=True):
        assert ours.path != theirs.path
        assert ours.spec != theirs.spec
        assert not theirs.accepts({"spec": ours.spec, "iterations": 999, "rows": [0] * 99, "scores": {}})


def test_as_published_keeps_labels_and_leaves_other_methods_alone():
    plan = plans.get("methods", as_published=True, methods=("GP", "auto", "peer:botorch"))
    assert [method.label for method in plan.methods] == ["GP", "auto", "botorch"]
    assert [dict(method.options) for method in plan.methods] == [{"as_published": True}, {}, {}]
    assert [task.maximizer for task in list(plan.tasks())[:3]] == ["smc", "smc", "multistart"]


def test_runs_with_another_maximizer_have_a_place_of_their_own():
    smc, multistart = (plans.get("methods", as_published=True, maximizer=m) for m in ("smc", "multistart"))
    assert (smc.page, multistart.page) == ("methods-as-published-smc", "methods-as-published")
    assert smc.command == "methods --as-published"
    assert multistart.command == "methods --as-published --maximizer multistart"
    tasks = [next(iter(plan.tasks())) for plan in (smc, multistart)]
    assert tasks[0].path != tasks[1].path
    assert not tasks[0].accepts({"spec": tasks[1].spec, "iterations": 999})


def test_results_made_before_there_was_a_choice_stay_valid():
    task = RunTask("branin", 0, Method("GP", "gp"), "ei", 10)
    assert task.path == "runs/branin/ei/gp/0000.json"
    assert not {"maximizer", "as_published"} & {*task.spec, *task.spec["options"]}
