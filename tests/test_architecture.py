"""The house: who may import whom, and what stays private. Read from the source; nothing of it is run."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "tcgp"

# The floors from the ground up. A module imports from floors below its own, and from its own package. A floor is made
# of the modules and packages directly below tcgp; "" is tcgp/__init__.py, which loads its names when they are used.
FLOORS = (
    ("", "_typing", "_threads", "_files", "_text"),
    ("_arrays", "_quantiles"),
    ("space", "expressions", "laws", "problems", "sampling", "front"),
    ("goals",),
    ("region",),
    ("gp",),
    ("calibration",),
    ("criteria",),
    ("models",),
    ("maximize", "scoring"),
    ("methods",),
    ("record",),
    ("search",),
    ("optimizer",),
    ("running",),
    ("programs",),
    ("plotting", "integrations"),
    ("report",),
    ("cli",),
    ("__main__",),
)
# Imports upwards, each for a reason. They are inside functions, and are not counted in circles.
UPWARD = {
    ("tcgp.optimizer.result", "tcgp.plotting"): "Result.plot draws itself",
    ("tcgp.running.minimize", "tcgp.report"): "minimize(report=...) writes the page while it runs",
}
MAX_ROOT_MODULES = 10

# Private names that belong to others, whom we extend or test against, and the way to reach what they keep.
FOREIGN = {
    "_best_parameter": "cocoex",
    "_cached_frozen_trial": "optuna",
    "_contains": "optuna",
    "_exit": "os",
    "_experiment": "ax",
    "_extended_shape": "botorch",
    "_generation_node_name": "ax",
    "_generation_strategy": "ax",
    "_get_stale_trial_ids": "optuna",
    "_max_workers": "concurrent.futures",
    "_nodes": "ax",
    "_outputs": "openmdao",
    "_processes": "concurrent.futures",
    "_read_only": "openmdao",
    "_ref_point": "botorch",
    "_repr_html_": "IPython",
    "_repr_png_": "IPython",
    "_set_concentration": "botorch",
    "_storage": "optuna",
    "_study_id": "optuna",
    "_trial_id": "optuna",
    "sklearn.model_selection._search": "sklearn",  # BaseSearchCV, which other libraries extend, is exported nowhere
}

# Not clean yet: files and folders that the tests below leave out. To be emptied, and then removed.
NOT_YET: tuple[str, ...] = ()


def clean(paths: Iterator[Path]) -> list[Path]:
    """The Python files among them that are in no entry of NOT_YET, in order."""
    return sorted(path for path in paths if not path.relative_to(ROOT).as_posix().startswith(NOT_YET))


def module_of(path: Path) -> str:
    """The name under which a file of the package is imported."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}
CLEAN_MODULES = [module_of(path) for path in clean(PACKAGE.rglob("*.py"))]
CLEAN_FILES = clean(
    path for folder in ("src", "tests", "benchmarks", "examples") for path in (ROOT / folder).rglob("*.py")
)


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those that only a type checker sees."""
    yield tree
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            continue
        yield from nodes(child)


@cache
def imports(module: str) -> frozenset[str]:
    """Modules of the package that a module imports, anywhere in it, with the packages that run on the way."""
    found = set()
    for node in nodes(tree_of(MODULES[module])):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{module}: relative imports are not understood here"
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                found.add(name if name in MODULES else str(node.module))
    inside = {name for name in found if name in MODULES}
    packages = {name[:i] for name in inside for i, letter in enumerate(name) if letter == "."}
    own = {module[:i] for i, letter in enumerate(module) if letter == "."}
    return frozenset((inside | packages - own) - {module})


def floor_of(module: str) -> int:
    unit = module.split(".")[1] if "." in module else ""
    return next((i for i, floor in enumerate(FLOORS) if unit in floor), -1)


def is_exception(module: str, other: str) -> bool:
    """Whether the import is one of those listed in UPWARD."""
    return (module, ".".join(other.split(".")[:2])) in UPWARD


def circle_from(start: str, graph: dict[str, set[str]]) -> list[str]:
    """A shortest way from a module back to itself, or nothing."""
    ways, seen = [[start]], set()
    for way in ways:
        for module in sorted(graph[way[-1]]):
            if module == start:
                return [*way, start]
            if module not in seen:
                seen.add(module)
                ways.append([*way, module])
    return []


def test_no_module_imports_itself_by_a_detour() -> None:
    graph = {
        module: {name for name in imports(module) if name in CLEAN_MODULES and not is_exception(module, name)}
        for module in CLEAN_MODULES
    }
    circles = [" -> ".join(way) for module in graph if (way := circle_from(module, graph))]
    assert not circles, "\n".join(circles)


def test_a_circle_is_seen() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b"}}
    assert circle_from("a", graph) == []
    assert circle_from("b", graph) == ["b", "c", "b"]


def test_imports_go_downward() -> None:
    nowhere = [module for module in CLEAN_MODULES if floor_of(module) < 0]
    assert not nowhere, f"on no floor, give each one in FLOORS: {nowhere}"
    upward = [
        f"{module} imports {name}"
        for module in CLEAN_MODULES
        for name in sorted(imports(module))
        if floor_of(name) >= floor_of(module)
        and name.split(".")[:2] != module.split(".")[:2]
        and not is_exception(module, name)
    ]
    assert not upward, "\n".join(upward)


def test_only_the_command_knows_the_experiments() -> None:
    knowing = [
        module for module, path in MODULES.items() if "tcgp_experiments" in path.read_text(encoding="utf-8")
    ]
    assert knowing == ["tcgp.cli.experiment"]


def test_few_modules_stand_at_the_root_of_the_package() -> None:
    root = [m for m in CLEAN_MODULES if MODULES[m].parent == PACKAGE and not MODULES[m].stem.startswith("__")]
    assert len(root) <= MAX_ROOT_MODULES, root


# ---- private names ----


def is_private(name: str) -> bool:
    return name.startswith("_") and name.strip("_") != "" and not name.endswith("__")


def own_names(tree: ast.Module) -> set[str]:
    """Names that a file defines: variables, functions, classes, and attributes of self or cls."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_self(node.value):
            names.add(node.attr)
    return names


def is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def hidden(module: str, importer: Path) -> bool:
    """Whether a module is private to a package that the importer is not in; its own test may see it."""
    parts = module.split(".")
    private = [i for i, part in enumerate(parts) if is_private(part)]
    if not private:
        return False
    home = PACKAGE.parent.joinpath(*parts[: private[0]])
    return not importer.is_relative_to(home) and importer.name != f"test{parts[private[0]]}.py"


def reaches(path: Path, tree: ast.Module) -> Iterator[str]:
    """Where a file uses a private name of another."""
    known = own_names(tree) | set(FOREIGN)
    for node in ast.walk(tree):
        reached: list[str] = []
        if isinstance(node, ast.Import):
            reached = [alias.name for alias in node.names if hidden(alias.name, path)]
        elif isinstance(node, ast.ImportFrom):
            name = str(node.module)
            reached = [name] if hidden(name, path) and name not in FOREIGN else []
            reached += [
                f"{name}.{alias.name}"
                for alias in node.names
                if is_private(alias.name)
                and (hidden(f"{name}.{alias.name}", path) or f"{name}.{alias.name}" not in MODULES)
            ]
        elif isinstance(node, ast.Attribute):
            if is_private(node.attr) and not is_self(node.value) and node.attr not in known:
                reached = [ast.unparse(node)]
        elif isinstance(node, ast.Call):
            reached = [name for name in named_in(node) if name not in known]
        for name in reached:
            yield f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}: {name}"


def named_in(call: ast.Call) -> Iterator[str]:
    """Private names that a call of getattr, setattr or mock.patch spells as strings."""
    function = ast.unparse(call.func).rpartition(".")[2]
    if function not in ("getattr", "setattr", "hasattr", "delattr", "object", "patch"):
        return
    if call.args and is_self(call.args[0]):
        return
    for argument in call.args[:2]:
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            yield from (part for part in argument.value.split(".") if is_private(part))


def test_private_names_are_used_where_they_are_defined() -> None:
    found = [reach for path in CLEAN_FILES for reach in reaches(path, tree_of(path))]
    assert not found, "\n".join(found)


def test_a_reach_into_private_names_is_seen() -> None:
    source = """
import tcgp._typing
from tcgp.laws._gamma import gamma_q
from tcgp.space import _round
model._cache
setattr(model, "_cache", 1)
mock.patch("tcgp.models._fit")
self._mine = hasattr(self, "_yours")
other._mine
"""
    path = ROOT / "tests" / "invented.py"
    found = [line.removeprefix("tests/invented.py:") for line in reaches(path, ast.parse(source))]
    assert sorted(found) == [
        "2: tcgp._typing",
        "3: tcgp.laws._gamma",
        "4: tcgp.space._round",
        "5: model._cache",
        "6: _cache",
        "7: _fit",
    ]
    assert list(reaches(PACKAGE / "laws" / "invented.py", ast.parse("from tcgp.laws import _gamma"))) == []


def test_an_objective_and_a_limit_are_alike_to_most_files() -> None:
    spec = importlib.util.spec_from_file_location("count_objectives", ROOT / "tools" / "count_objectives.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert len(tool.knowing()) <= 8
