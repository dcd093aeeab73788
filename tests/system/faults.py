"""`python tests/system/faults.py [NAME ...]`: check that the tests find faults that are put into a copy of the sources.

A fault replaces a piece of text that occurs once in a file. One of its tests must fail. Without names, all faults
are tried, one after the other. The script prints one line per fault and exits with 1 if a fault is not found.
`python tests/system/faults.py --list` prints the names.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("src", "tests", "studies", "workflow", "tools", "config", "pyproject.toml", "params.yaml", "conftest.py")


class Fault(NamedTuple):
    """A change of one source file.

    file: path below src/gradrank. before: text that occurs once in the file. after: text that replaces it. tests: files
    or tests below tests/unit of which at least one must fail.
    """

    file: str
    before: str
    after: str
    tests: str


FAULTS = {
    # Reading data
    "sparse rows are read as dense": Fault(
        "data/text/letor.py",
        "return FirstRow(values[-1], True, text_ids)",
        "return FirstRow(values[-1], False, text_ids)",
        "data/test_letor.py",
    ),
    "negative numbers lose their sign": Fault(
        "data/text/tokens.py", "return -value if negative else value, at", "return value, at", "data/test_letor.py"
    ),
    "a deviation is that of a sample": Fault(
        "data/normalisation.py",
        "np.sqrt(np.square(values - mean[number]).mean())",
        "np.std(values, ddof=1)",
        "data/test_normalisation.py",
    ),
    "a feature is scaled by all queries": Fault(
        "data/normalisation.py",
        "return _ratio(features - np.repeat(lowest, sizes[sizes > 0], axis=0), span)",
        "return _ratio(features - lowest.min(axis=0), span)",
        "data/test_normalisation.py",
    ),
    "pairs contain ties twice": Fault(
        "data/pairs.py",
        "if gap > 0 or (ties and gap == 0 and i < j):",
        "if gap > 0 or (ties and gap == 0 and i != j):",
        "data/test_pairs.py",
    ),
    "the target of a tie is 1": Fault(
        "data/pairs.py",
        "target = np.where(labels[better] == labels[worse], 0.5, 1.0) if ties else None",
        "target = np.where(labels[better] == labels[worse], 1.0, 1.0) if ties else None",
        "data/test_pairs.py",
    ),
    "a stored pair file of other rows is accepted": Fault(
        "data/pairs.py",
        'if self.part(part)["of"] != collection.part(part)["sha256"]:',
        "if False:",
        "data/test_pairs.py",
    ),
    # Measures
    "documents with equal scores have the order of the file": Fault(
        "measures/ranking.py",
        "return group_means(values, self.groups) if self.in_expectation else values",
        "return values",
        "measures/test_ties.py",
    ),
    "the first relevant document counts from 0": Fault(
        "measures/ranking.py",
        "out[query] += chance / position[first + i]",
        "out[query] += chance / (position[first + i] + 1)",
        "measures/test_ties.py measures/test_metric_oracles.py",
    ),
    "a grade at the threshold is not relevant": Fault(
        "measures/ranking.py",
        "return self.grades >= self.threshold",
        "return self.grades > self.threshold",
        "measures/test_metrics.py",
    ),
    # Statistics
    "Holm's correction is Bonferroni's": Fault(
        "comparison/statistics.py",
        "steps = plain[order] * np.arange(len(order), 0, -1)",
        "steps = plain[order] * len(order)",
        "comparison/test_statistics.py",
    ),
    "a missing p value counts in Holm's correction": Fault(
        "comparison/statistics.py",
        "tested = np.flatnonzero(~np.isnan(plain))",
        "tested = np.arange(len(plain))",
        "comparison/test_statistics.py",
    ),
    "the signed-rank test keeps differences of 0": Fault(
        "comparison/statistics.py",
        "ranks = np.repeat(rank - zeros[pair] + (lengths + 1) / 2, lengths)",
        "ranks = np.repeat(rank + (lengths + 1) / 2, lengths)",
        "comparison/test_paired_p_values.py",
    ),
    "a verdict ignores the interval": Fault(
        "comparison/significance.py", "if p < LEVEL and low > 0:", "if p < LEVEL:", "comparison/test_decision.py"
    ),
    "the variance between seeds contains the noise of their means": Fault(
        "comparison/variance.py",
        "return max(0.0, self.between.variance - self.seed.variance / self.seeds)",
        "return max(0.0, self.between.variance)",
        "comparison/test_variance.py",
    ),
    # Training
    "the last of equally good steps is selected": Fault(
        "training/best_of.py", "if value > best_value:", "if value >= best_value:", "training/test_best_of.py"
    ),
    "patience ends a step late": Fault(
        "training/best_of.py",
        "elif step - best_step >= patience:",
        "elif step - best_step > patience:",
        "training/test_best_of.py",
    ),
    "the discount of rank 2 is log2(3) everywhere": Fault(
        "training/selection.py",
        'np.log2(ranks + 1.0 if self.convention.discount == "log2" else np.maximum(ranks, 2.0))',
        "np.log2(ranks + 1.0)",
        "training/test_selection.py",
    ),
    "the cost of a pair has the wrong sign for a tie": Fault(
        "training/losses/pairwise.py",
        "complement = 1.0 - target[p] if len(target) > 0 else 0.0",
        "complement = target[p] if len(target) > 0 else 0.0",
        "training/test_losses.py training/test_pair_targets.py",
    ),
    "the softmax of a query is not normalised": Fault(
        "training/losses/listwise.py",
        "out[i] /= total",
        "out[i] /= total + 1.0",
        "training/test_loss_identities.py training/test_loss_peers.py models/test_listnet.py",
    ),
    "a gradient lacks the factor sigma": Fault(
        "training/losses/listwise.py",
        "return cost, sigma * gradient",
        "return cost, gradient",
        "training/test_losses.py training/test_every_loss.py",
    ),
    "a parameter of LightGBM is not passed on": Fault(
        "training/solvers/boosting.py",
        "if params.monotone:",
        "if False:",
        "training/test_boosting.py training/test_constraints_by_name.py",
    ),
    "the branch of missing values is exchanged": Fault(
        "training/solvers/boosting.py",
        'return threshold, node["default_left"] if missing == "NaN" else threshold >= 0.0',
        'return threshold, not node["default_left"] if missing == "NaN" else threshold >= 0.0',
        "training/test_tree_forms.py",
    ),
    # Models in files
    "an array of another shape is loaded": Fault(
        "training/model_files.py", "if array.shape != expected:", "if False:", "training/test_model_files.py"
    ),
    "a model for other features is loaded": Fault(
        "training/model_files.py",
        "if found != features:",
        "if False:",
        "training/test_model_files.py training/test_model_families.py",
    ),
    "numbers that are not finite are loaded": Fault(
        "training/model_files.py",
        "if array.dtype not in (np.float32, np.float64) or not np.isfinite(array).all():",
        "if array.dtype not in (np.float32, np.float64):",
        "training/test_model_files.py",
    ),
    # Explanations and exports
    "contributions are exchanged between the documents": Fault(
        "explanations/shapley.py",
        "return form.weights * (first - second)",
        "return form.weights * (second - first)",
        "explanations/test_pair_explanations.py",
    ),
    "a missing value goes both ways": Fault(
        "explanations/shapley.py",
        "of_z[place] = takes_missing[place] if np.isnan(other)",
        "of_z[place] = True if np.isnan(other)",
        "explanations/test_pair_explanations.py",
    ),
    "RankLib's leaves are rounded": Fault(
        "export/formats/ranklib.py",
        "{shortest(tree.value[node])}",
        "{tree.value[node]:.3f}",
        "export/test_ranklib.py export/test_every_model.py",
    ),
    "a tree with branches for missing values is exported": Fault(
        "export/formats/ranklib.py",
        "if model.takes_missing and has_missing_branches(trees.trees):",
        "if False:",
        "export/test_ranklib.py",
    ),
    # Files
    "an output may be an input": Fault(
        "base/files.py", "if _is_same(path, given):", "if False:", "cli/test_outputs.py"
    ),
    "a path outside the folder is accepted": Fault(
        "base/stamps.py",
        'if any(part in ("", ".", "..") for part in name.split("/")):',
        "if False:",
        "base/test_stamps.py",
    ),
    "a stamp of another name is accepted": Fault(
        "base/stamps.py", "if content.get(MARKER, path.stem) != path.stem:", "if False:", "base/test_stamps.py"
    ),
    "an edited stamp is accepted": Fault(
        "base/stamps.py",
        "return content[CHECKSUM] == _digest({key: value for key, value in content.items() if key != CHECKSUM})",
        "return True",
        "base/test_stamps.py",
    ),
    # The benchmark
    "a default value changes a record": Fault(
        "bench/provenance/records.py",
        "for key, value in params.items() if key not in defaults or defaults[key] != value}",
        "for key, value in params.items()}",
        "bench/provenance/test_records.py",
    ),
    "all seeds are the first seed": Fault(
        "bench/workflow_support/plan.py",
        'return int(number), int(further.removeprefix("seed") or self.settings.first_seed)',
        "return int(number), self.settings.first_seed",
        "bench/workflow_support/test_plan.py",
    ),
    "seed noise is left out of a comparison of states": Fault(
        "bench/diff/compare.py",
        "return test._replace(low=test.difference - down, high=test.difference + up)",
        "return test",
        "bench/diff/test_diff.py",
    ),
    "a choice that does not follow from the trials is accepted": Fault(
        "bench/tuning/choices.py",
        'if written.get(key, {}).get(f"tuner{tuner}") != choice.entry:',
        "if False:",
        "bench/tuning/test_tune.py",
    ),
    "a member of other data is accepted": Fault(
        "bench/folds/job.py", "if member_spec[key] != value:", "if False:", "bench/folds/test_job.py"
    ),
    "a docstring changes a code digest": Fault(
        "bench/config/code_digest.py",
        "documented = any(source.reads_docstrings for source in sources.values())",
        "documented = True",
        "bench/config/test_code_digest.py bench/config/test_source_digest.py",
    ),
}


def is_found(fault: Fault, folder: Path) -> tuple[bool, str]:
    """Return whether a test fails with the fault, and the last line of the tests. folder: a copy of the checkout."""
    path = folder / "src/gradrank" / fault.file
    text = path.read_text(encoding="utf-8")
    path.write_text(with_fault(fault, text), encoding="utf-8")
    try:
        tests = [str(Path("tests/unit", name)) for name in fault.tests.split()]
        variables = os.environ | {"PYTHONPATH": str(folder / "src"), "NUMBA_CACHE_DIR": str(folder / "cache")}
        command = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", *tests]
        done = subprocess.run(
            command, cwd=folder, env=variables, text=True, capture_output=True, stdin=subprocess.DEVNULL
        )
        lines = done.stdout.strip().splitlines() or [done.stderr[-300:]]
        no_test = done.returncode in range(2, 6)  # pytest was stopped, or has found no test
        return done.returncode != 0 and not no_test, lines[-1]
    finally:
        path.write_text(text, encoding="utf-8")


def with_fault(fault: Fault, text: str) -> str:
    """Return the text of the source file with the fault. Raises ValueError unless `before` occurs once."""
    if (count := text.count(fault.before)) != 1:
        raise ValueError(f"{fault.file}: the text to replace occurs {count} times: {fault.before}")
    return text.replace(fault.before, fault.after)


def copy_checkout(folder: Path) -> Path:
    """Copy the files that the unit tests read into `folder`, and return it."""
    for name in COPIED:
        source, ignored = ROOT / name, shutil.ignore_patterns("__pycache__", "*.egg-info")
        if source.is_dir():
            shutil.copytree(source, folder / name, symlinks=True, ignore=ignored)
        else:
            shutil.copy2(source, folder / name)
    return folder


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="faults to try; by default, all of them")
    parser.add_argument("--list", action="store_true", help="print the names of the faults")
    arguments = parser.parse_args()
    if arguments.list:
        print(*FAULTS, sep="\n")
        return 0
    names = arguments.names or list(FAULTS)
    missed = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = copy_checkout(Path(temporary))
        for name in names:
            started = time.monotonic()
            found, last = is_found(FAULTS[name], folder)
            missed += [] if found else [name]
            print(
                f"{'found' if found else 'NOT FOUND'}: {name} ({time.monotonic() - started:.0f} s; {last})", flush=True
            )
    print(f"{len(names) - len(missed)} of {len(names)} faults found")
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
