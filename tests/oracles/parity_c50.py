"""fasttree's C5.0 beside the original program, figure by figure.

    python tests/oracles/parity_c50.py                    the tables of this repository
    python tests/oracles/parity_c50.py --data FOLDER      those of a folder with data/ and reference/

prints every recorded figure of single and boosted trees, and of rules, as `original|ours`, those that differ with a star;
figures of a trial have its number.  With --twin, it also prints the figures of the twin (`c50`), which grows and prunes in the
original's arithmetic: where the twin agrees with us, a tie is the reason.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).parents[1] / "twins"))

from c50.problem import NULL
from c50.recorded import OPTIONS, DataSet, Run, sets_in, shipped_sets

from fasttree import C50Classifier
from fasttree._model.tree import Tree

PARAMETERS: dict[str, dict[str, Any]] = {
    "default": {},
    "noglobal": {"global_pruning": False},
    "subset": {"subset": True},
    "m5": {"min_samples_branch": 5},
    "cf10": {"confidence": 0.10},
    "winnow": {"winnow": True},
    "soft": {"soft_thresholds": True},
    "boost": {"trials": 10},
    "rules": {"rules": True},
    "boost_rules": {"trials": 10, "rules": True},
}


def size_of(tree: Tree) -> int:
    return int(np.count_nonzero((tree.n_branches == 0) & (tree.weight >= NULL)))


def figures_of(dataset: DataSet, run: Run) -> dict[str, int]:
    """Return what the original printed for this run, by us."""
    train, test = dataset.frames(run.split)
    model = C50Classifier(**PARAMETERS[run.name]).fit(train.iloc[:, :-1], train.iloc[:, -1])
    has_rules = run.name.endswith("rules")
    sizes = [len(found.rules_) if has_rules else size_of(found.tree_) for found in model.estimators_]
    figures = {"size": sizes[0]}
    if len(sizes) > 1:
        wrong = model.trial_errors(train.iloc[:, :-1], train.iloc[:, -1])[:, 0] * len(train)
        figures = {f"size {i}": size for i, size in enumerate(sizes)}
        figures |= {f"errors {i}": round(errors) for i, errors in enumerate(wrong.tolist())}
    if run.name == "winnow":
        figures["winnowed"] = len(model.winnowed_)
    for part, frame in (("train", train), ("test", test)):
        if frame is not None:
            figures[f"{part}_errors"] = int((model.predict(frame.iloc[:, :-1]) != frame.iloc[:, -1].to_numpy()).sum())
    return figures


def figures_of_twin(dataset: DataSet, run: Run) -> dict[str, int]:
    from test_c50 import boosted_figures_of, figures_of, rule_figures_of, winnowed_figures_of

    tables = dataset.tables(run.split)
    if run.name == "rules":
        return rule_figures_of(tables)
    if run.name == "winnow":
        return winnowed_figures_of(tables)
    if run.name.startswith("boost"):
        return boosted_figures_of(tables, rules=run.name == "boost_rules")
    return figures_of(tables, OPTIONS[run.name])


def report(datasets: Iterable[DataSet], *, runs: Collection[str] = tuple(PARAMETERS), by_twin: bool = False) -> Counter[bool]:
    """Print everything; return how many figures are equal, and how many are not."""
    counts = {run: Counter[bool]() for run in runs}
    for dataset in datasets:
        print(f"\n{dataset.name}: {dataset.declared.n_rows} rows")
        for run in dataset.runs:
            if run.name not in runs:
                continue
            ours = figures_of(dataset, run)
            printed = run.printed
            same = {name: printed.get(name) == ours.get(name) for name in printed | ours}
            counts[run.name].update(same.values())
            cells = [f"{name} {printed.get(name)}|{ours.get(name)}{'' if same[name] else '*'}" for name in same]
            print(f"  {run.split:7}{run.name:12}{'  '.join(cells)}")
            if by_twin and not all(same.values()):
                print(f"  {'':19}twin: {figures_of_twin(dataset, run)}")
    count = sum(counts.values(), Counter[bool]())
    print()
    for name, found in [*counts.items(), ("all", count)]:
        if found:
            share = 100 * found[True] / found.total()
            print(f"{name:12}{found[True]} of {found.total()} figures are equal ({share:.1f} %)")
    return count


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with data/ and reference/; default: the tables of this repository")
    parser.add_argument("--sets", nargs="+", help="names of data sets; default: all")
    parser.add_argument("--runs", nargs="+", choices=PARAMETERS, help="names of runs; default: all")
    parser.add_argument("--twin", action="store_true", help="show the figures of the twin where ours differ")
    options = parser.parse_args(arguments)
    sets = shipped_sets() if options.data is None else sets_in(options.data)
    chosen = (dataset for name, dataset in sets.items() if not options.sets or name in options.sets)
    report(chosen, runs=options.runs or tuple(PARAMETERS), by_twin=options.twin)
    return 0


if __name__ == "__main__":
    sys.exit(main())
