"""The closure of imports that decides which jobs a source edit reruns."""

from pathlib import Path

from gradrank.model import models
from gradrank.sources import PACKAGE, sources


def names(*modules):
    return {str((Path.cwd() / path).resolve().relative_to(PACKAGE)) for path in sources(*modules)}


def test_training_depends_on_selection_but_not_on_reported_metrics():
    for cls in models().values():
        found = names("gradrank.train", cls.__module__)
        assert "collection.py" in found and "train.py" in found
        assert not found & {"metrics.py", "evaluation.py", "summary.py", "cli.py", "tracking.py", "params.py"}


def test_a_model_depends_on_no_model_but_those_it_inherits_from():
    for name, cls in models().items():
        family = {f"models/{base.__module__.rpartition('.')[2]}.py" for base in cls.__mro__}
        found = {path for path in names("gradrank.train", cls.__module__) if path.startswith("models/")}
        assert found <= family | {"models/__init__.py"}, name


def test_evaluation_depends_on_metrics_but_on_no_model():
    found = names("gradrank.evaluation")
    assert "metrics.py" in found
    assert not {path for path in found if path.startswith("models/")}
