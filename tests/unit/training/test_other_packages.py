"""Models and losses of other distributions, and the rule that only commands read models/ of the working folder."""

import importlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gradrank.base.errors import GradrankError
from gradrank.base.extensions import Extension
from gradrank.training import registry
from gradrank.training.model import registered
from gradrank.training.registry import find_loss, import_from, loss_module, loss_names

EXAMPLE = Path(__file__).resolve().parents[3] / "examples/gradrank-example/src"
SHIPPED = Path(registry.__file__).parents[1] / "models/single_feature.py"


@pytest.fixture
def extend(tmp_path, monkeypatch):
    """A function that makes packages visible as extensions: `extend(losses={"package": {"module": "text"}})`.

    Imported packages stay in the process, so every call has names of its own.
    """
    written: list[str] = []
    monkeypatch.syspath_prepend(tmp_path)

    def write(packages: dict[str, dict[str, str]]) -> tuple[Extension, ...]:
        written.extend(packages)
        for package, texts in packages.items():
            (tmp_path / package).mkdir()
            for module, text in {"__init__": "", **texts}.items():
                (tmp_path / package / f"{module}.py").write_text(text)
        importlib.invalidate_caches()
        return tuple(Extension(package, f"{package}-distribution", "1.0") for package in packages)

    def apply(losses=(), models=()):
        added = write(dict(losses))
        added_models = (*registry.extensions("gradrank.models"), *write(dict(models)))
        both = {"gradrank.losses": added, "gradrank.models": added_models}
        monkeypatch.setattr(registry, "extensions", both.__getitem__)
        others = [*added, *added_models[1:]]
        found = {each.package: each for each in others}
        monkeypatch.setattr(registry, "extension_of", lambda module: found.get(module.partition(".")[0]))

    yield apply
    for name in [name for name, cls in registered.items() if cls.__module__.partition(".")[0] in written]:
        del registered[name]


LOSS = (
    "from gradrank.training.loss import loss\n\n\n@loss\ndef {}(scores, labels, offsets):\n    return 0.0, scores * 0\n"
)


def test_a_loss_of_another_package_is_found_by_name(extend):
    extend(losses={"my_losses": {"my_loss": LOSS.format("my_loss"), "_helper": "1 / 0"}})
    assert "my_loss" in loss_names() and "_helper" not in loss_names()
    assert loss_module("my_loss") == "my_losses.my_loss" and loss_module("softmax") == f"{registry.LOSSES}.listwise"
    assert find_loss("my_loss")(np.ones(2), np.zeros(2), np.array([0, 2]))[0] == 0.0
    with pytest.raises(GradrankError, match="did you mean 'my_loss'"):
        find_loss("my_los")


def test_a_loss_without_its_function_or_decorator_and_a_package_that_fails_are_named(extend):
    extend(losses={"misnamed": {"my_loss": "def another():\n    return 0\n"}})
    with pytest.raises(GradrankError, match=r"misnamed\.my_loss: no function 'my_loss'"):
        find_loss("my_loss")
    extend(losses={"undecorated": {"plain_loss": "def plain_loss():\n    return 0\n"}})
    with pytest.raises(GradrankError, match=r"undecorated\.plain_loss.*Fix: .*training\.loss"):
        find_loss("plain_loss")
    extend(losses={"broken": {"__init__": "import no_such_module_at_all"}})
    with pytest.raises(GradrankError, match=r"broken-distribution 1\.0 .*no_such_module_at_all.*Fix: pip install"):
        loss_names()


def test_an_entry_point_that_names_a_module_is_refused(extend, tmp_path, monkeypatch):
    extend()
    (tmp_path / "plain.py").write_text("")
    extension = Extension("plain", "plain-distribution", "1.0")
    monkeypatch.setattr(registry, "extension_of", lambda module: extension)
    with pytest.raises(GradrankError, match=r"plain-distribution.*is a module, and a package is expected"):
        import_from(extension)


def test_two_losses_of_the_same_name_are_an_error_that_names_both_packages(extend):
    extend(losses={"one": {"softmax": LOSS.format("softmax")}})
    with pytest.raises(
        GradrankError, match=r"'softmax' in gradrank\.training\.losses\.listwise and one\.softmax\. Fix"
    ):
        loss_names()


def test_a_model_of_another_package_is_found_and_a_taken_name_is_refused(extend):
    text = SHIPPED.read_text()
    extend(models={"my_models": {"mine": text.replace('"single_feature"', '"of_my_package"')}})
    assert registry.get_model("of_my_package").__module__ == "my_models.mine"
    extend(models={"other_models": {"theirs": text}})
    registry.get_model("mart")
    with pytest.raises(GradrankError, match=r"'single_feature' in gradrank\.models\..*other_models\.theirs.*Fix"):
        registry.get_model("single_feature")


def test_a_model_that_cannot_be_imported_names_its_distribution(extend):
    extend(models={"bad_models": {"bad": '1 / 0\n\n\n@register("bad")\nclass Bad: ...\n'}})
    with pytest.raises(GradrankError, match=r"bad_models-distribution 1\.0 .*bad_models\.bad .*ZeroDivisionError"):
        registry.get_model("bad")


def test_the_gradient_of_the_example_loss_is_that_of_its_cost(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLE)
    from gradrank_example.losses.squared_hinge import squared_hinge

    rng = np.random.default_rng(1)
    scores, labels, offsets = rng.normal(size=12), rng.integers(0, 3, 12), np.array([0, 5, 6, 12])
    _, gradient = squared_hinge(scores, labels, offsets)
    for at in range(12):
        step = np.eye(12)[at] * 1e-6
        up, down = (squared_hinge(scores + sign * step, labels, offsets)[0] for sign in (1, -1))
        assert gradient[at] == pytest.approx((up - down) / 2e-6, rel=1e-5, abs=1e-6)


PROGRAM = """
from gradrank.base.extensions import use_own_models
from gradrank.training.registry import get_model, models
assert "mine" not in models()
try:
    get_model("mine")
except Exception as error:
    print(error)
use_own_models()
assert models()["mine"] is get_model("mine")
"""


def test_a_program_does_not_read_models_in_its_working_folder(tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "models/mine.py").write_text(SHIPPED.read_text().replace('"single_feature"', '"mine"'))
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=tmp_path, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert "unknown model 'mine'" in done.stdout
