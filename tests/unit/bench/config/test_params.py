"""Every fault in params.yaml is named by its path, with the nearest valid name, before any job starts."""

from pathlib import Path

import pytest
import yaml

from gradrank.base.errors import GradrankError
from gradrank.bench.config.params import check, load
from gradrank.training.registry import models

SHIPPED = Path(__file__).parents[4] / "params.yaml"


def raw(**changes):
    """Return the shipped file with top-level keys replaced."""
    return yaml.safe_load(SHIPPED.read_text()) | changes


def changed(text):
    """Return the shipped file with the keys of a YAML text; `datasets` and `evaluation` are merged, others replaced."""
    changes = yaml.safe_load(text)
    for key in ("datasets", "evaluation"):
        if isinstance(changes.get(key), dict):
            changes[key] = raw()[key] | changes[key]
    return raw(**changes)


# A change of the shipped file, and the path or value that the message must name.
FAULTS = """
sed: 1 => sed: unknown key (did you mean 'seed'?)
seed: x => seed:
seed: yes => seed:
models: {lambdamart: {learning_rate: [0.1, yes]}} => models.lambdamart.learning_rate:
models: {lambdamart: {num_leaves: 10000000}} => less than or equal to 131072 (got 10000000)
seed: -1 => seed:
study: {datasets: [mq2007]} => `run`
datasets: 3 => datasets:
datasets: {mine: {path: ., grade_edges: [0.2, 0.1]}} => datasets.mine.grade_edges: expected strictly increasing numbers
datasets: {mine: {path: ., grade_edges: [0.1, .inf]}} => datasets.mine.grade_edges: expected finite numbers
datasets: {mine: {path: ., header: 3}} => datasets.mine.header:
datasets: {mq2007: {grade_edges: [1]}} => datasets.mq2007: is in the catalogue
models: [1] => models:
studies: [1] => studies:
run: {datasets: []} => run.datasets:
run: {datasets: [mq207]} => unknown data set 'mq207' (did you mean 'mq2007'?)
run: {datasets: [mq2007], models: [lamdamart]} => (did you mean 'lambdamart'?)
run: {datasets: [mq2007], seeds: []} => run.seeds:
run: {datasets: [mq2007], seeds: [1, -2]} => run.seeds.1:
run: {datasets: [mq2007], seeds: [1, 2, 1]} => run.seeds:
models: {ranksv: {}} => models.ranksv: unknown model (did you mean 'ranksvm'?)
models: {lambdamart: {learning_rat: 0.1}} => models.lambdamart.learning_rat: unknown key (did you mean 'learning_rate'?)
models: {lambdamart: {learning_rate: fast}} => models.lambdamart.learning_rate:
models: {lambdamart: {learning_rate: -1}} => (got -1)
models: {lambdamart: {learning_rate: .nan}} => finite number
models: {lambdamart: {learning_rate: []}} => models.lambdamart.learning_rate:
models: {lambdamart: {learning_rate: [0.1, 0.1]}} => 'lambdamart-learning_rate=0.1'
models: {lambdamart: {grid: {num_leaves: 7}}} => models.lambdamart.grid.num_leaves:
models: {lambdamart: {grid: [7]}} => models.lambdamart.grid:
models: {lambdamart: {grid: {leaves: [7]}}} => models.lambdamart.leaves:
models: {lambdamart: {num_leaves: 3, grid: {num_leaves: [7]}}} => models.lambdamart.grid.num_leaves:
models: {theirs: {scores: "{model}.txt"}} => models.theirs.scores:
models: {theirs: {scores: "<x>/{fold}.txt"}} => models.theirs.scores:
models: {imported: {scores: x}} => models.imported:
models: {ranksvm: {scores: x}} => models.ranksvm.scores:
models: {small: {model: lamdamart}} => models.small.model: unknown model (did you mean 'lambdamart'?)
models: {ranksvm: {model: lambdamart}} => models.ranksvm.model:
models: {fusion: {models: [ranksvm, ranksvn]}} => models.fusion: unknown model 'ranksvn' (did you mean 'ranksvm
models: {fusion: {models: [ranksvm, fusion]}} => models.fusion:
models: {Small trees: {model: lambdamart}} => models.Small trees:
datasets: {synthetic_net: {queris: 4, documents: 5}} => (did you mean 'queries'?)
datasets: {synthetic_net: {queries: 1, documents: 5}} => greater than or equal to 5 (got 1)
datasets: {mq2007: {path: x}} => datasets.mq2007:
datasets: {report: {path: x}} => datasets.report:
datasets: {all: {path: x}} => datasets.all:
datasets: {arsm: {path: x}} => datasets.arsm:
datasets: {studies: {path: x}} => datasets.studies:
datasets: {My Data: {path: x}} => datasets.My Data:
datasets: {mine: {}} => datasets.mine:
datasets: {mine: {path: /no/such/folder}} => datasets.mine.path:
datasets: {mine: {path: ~nobody-at-all/x}} => (got '~nobody-at-all/x')
datasets: {mine: {path: "/data/{fold}"}} => datasets.mine.path:
evaluation: {metrics: [ndgc@10]} => evaluation.metrics:
evaluation: {convention: trec} => evaluation.conventions:
evaluation: {convention: letor} => evaluation.convention: unknown convention 'letor' (did you mean 'letor4'?)
evaluation: {conventions: [letor4, treck]} => unknown convention 'treck' (did you mean 'trec'?)
studies: {arsm: {models: [ranksv]}} => studies.arsm.models: unknown model 'ranksv' (did you mean 'ranksvm'?)
studies: {arsm: {datasets: [mq207]}} => studies.arsm.datasets:
studies: {arsm: {variants: {ranksvm: {}}}} => studies.arsm.variants.ranksvm:
studies: {arsm: {variants: {deep: {model: x}}}} => studies.arsm.variants.deep.model:
studies: {arsm: {modles: []}} => studies.arsm.modles:
studies: {arsm: 3} => studies.arsm:
studies: {asrm: {}} => studies.asrm: unknown study (did you mean 'arsm'?)
studies: {arsm: {reduced: {models: [x]}}} => studies.arsm.reduced.models:
studies: {arsm: {reduced: {draws: 1}}} => studies.arsm.reduced.draws:
studies: {ranknet2005: {artificial: {draws: 0, sizes: [100]}}} => ranknet2005.artificial.draws:
studies: {ranknet2005: {artificial: {draws: 1, sizes: [99]}}} => ranknet2005.artificial.sizes.0:
studies: {contest: {methods: [ranksv]}} => unknown model 'ranksv' (did you mean 'ranksvm'?)
studies: {contest: {methods: [mart, mart]}} => studies.contest.methods:
studies: {contest: {datasets: [mq2007], methods: [mart], trials: 0}} => studies.contest.trials:
studies: {contest: {datasets: [mq2007], methods: [mart], frozen: [mq2007]}} => studies.contest:
studies: {contest: {datasets: [mq2007], methods: [mart], frozen: [mq2009]}} => studies.contest.frozen:
"""


@pytest.mark.parametrize("line", FAULTS.strip().splitlines())
def test_a_fault_is_named_by_its_path(line):
    text, message = line.split(" => ")
    with pytest.raises(GradrankError) as caught:
        check(changed(text))
    assert message in str(caught.value)


def test_all_faults_are_named_at_once():
    with pytest.raises(GradrankError) as caught:
        check(raw(sed=1, seed="x", models={"ranksv": {}}))
    assert str(caught.value).count("\n  ") == 3
    assert str(caught.value).startswith("params.yaml:\n")


SINGLE_FAULTS = """
{models: {lambdamart: {num_leaves: x}}, run: {datasets: [mq2007], models: [lambdamart]}}
{models: {mine: {model: lamdamart}}, run: {datasets: [mq2007], models: [mine]}}
{models: {lambdamart: {learning_rate: [.1, .2], num_leaves: 0}}, run: {datasets: [mq2007], models: [lambdamart]}}
{datasets: {mine: {path: /no}}, run: {datasets: [mine]}}
{studies: {arsm: {models: [deep], variants: {deep: {model: arms}}}}}
"""


@pytest.mark.parametrize("line", SINGLE_FAULTS.strip().splitlines())
def test_a_single_fault_gives_a_single_message(line):
    with pytest.raises(GradrankError) as caught:
        check(changed(line))
    assert str(caught.value).count("\n  ") == 1, caught.value


def test_a_misspelt_variant_of_a_sound_sweep_is_named():
    run = {"datasets": ["mq2007"], "models": ["lambdamart-num_leaves=9"]}
    with pytest.raises(GradrankError, match=r"unknown model .lambdamart-num_leaves=9. .did you mean"):
        check(raw(models={"lambdamart": {"num_leaves": [7, 15]}}, run=run))


def test_a_tilde_stands_for_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "mine.svm").touch()
    params = check(raw(datasets=raw()["datasets"] | {"mine": {"path": "~/mine.svm"}}))
    assert params.datasets["mine"].path == tmp_path / "mine.svm"


def test_the_shipped_file_resolves_every_model():
    params = load(SHIPPED)
    assert {variant.entry for variant in params.models.values()} >= set(models())
    for dataset in ("mq2007", "synthetic_net"):
        assert params.model_names(dataset) == sorted(params.model_names(dataset))
    for variant in params.models.values():
        unset = {"monotone", "interactions"}  # constraints that are not set are not stored
        assert set(variant.params) == set(models()[variant.model].Params.model_fields) - unset


def test_only_randomised_models_have_several_seeds():
    models = {
        "lambdamart": {"bagging_fraction": 1.0},
        "sampled": {"model": "lambdamart", "bagging_fraction": 0.5},
        "plain_pair": {"model": "fusion", "models": ["ranksvm", "lambdamart"]},
        "mixed_pair": {"model": "fusion", "models": ["ranksvm", "sampled"]},
        "pair_of_pairs": {"model": "fusion", "models": ["plain_pair", "mixed_pair"]},
        "theirs": {"scores": "runs/fold{fold}.txt"},
    }
    params = check(raw(models=models, run={"datasets": ["synthetic_net"], "models": [*models], "seeds": [7, 3]}))
    alone = dict.fromkeys(["lambdamart", "plain_pair", "theirs", "ranksvm", "regression"], (7,))
    both = dict.fromkeys(["sampled", "mixed_pair", "pair_of_pairs", "ranknet_two_layer"], (7, 3))
    assert {name: params.seeds_of(name, "synthetic_net") for name in alone | both} == alone | both
    one = check(raw(models=models, seed=5, datasets=raw()["datasets"] | {"ohsumed": {"seeds": 3}}))
    assert {one.seeds_of(name, "synthetic_net") for name in both} == {(5,)}
    assert {one.seeds_of(name, "ohsumed") for name in both} == {(5, 6, 7)}
    assert {one.seeds_of(name, "ohsumed") for name in alone} == {(5,)}


def test_the_seeds_of_a_data_set_are_not_for_variants_of_studies():
    studies = {
        "arsm": {"datasets": ["mq2007", "ohsumed"], "models": ["arsm"], "variants": {"short": {"model": "arsm"}}}
    }
    datasets = {"mq2007": {"seeds": 2}, "ohsumed": {"seeds": 2, "models": ["short"]}}
    run = {"datasets": ["mq2007"], "models": "all"}
    params = check(raw(models={}, seed=5, run=run, studies=studies, datasets=raw()["datasets"] | datasets))
    assert {name: params.seeds_of(name, "mq2007") for name in ("arsm", "short")} == {"arsm": (5, 6), "short": (5,)}
    assert params.seeds_of("short", "ohsumed") == (5, 6)  # the data set trains it, too
    jobs = {job["seed"] for job in params.study_jobs("arsm").values() if job["kind"] == "pointwise"}
    assert jobs == {5, 6}
    several = check(raw(models={}, run=run | {"seeds": [5, 7]}, studies=studies))
    assert several.seeds_of("short", "mq2007") == (5, 7)


def test_a_data_set_may_name_its_own_models():
    changes = {"run": {"datasets": ["mq2007", "synthetic_net"], "models": ["mart"]}}
    own = {"mq2007": {"models": "all"}, "ohsumed": {"models": ["mart", "prank"]}}
    changes["datasets"] = raw()["datasets"] | own
    params = check(raw(**changes))
    named = {dataset: params.model_names(dataset) for dataset in ("synthetic_net", "ohsumed")}
    assert named == {"synthetic_net": ["mart"], "ohsumed": ["mart", "prank"]}
    assert {"mart", "prank", "lambdamart"} < set(params.model_names("mq2007"))
    changes["datasets"]["ohsumed"] = {"models": ["prnk"]}
    with pytest.raises(GradrankError, match=r"datasets\.ohsumed\.models: unknown model 'prnk' .*'prank'"):
        check(raw(**changes))


def test_the_catalogue_s_convention_comes_between_the_data_set_s_and_the_run_s():
    params = check(changed("evaluation: {convention: letor3, conventions: [letor3, letor4]}"))
    assert {name: params.convention(name) for name in ("mq2007", "clueweb09", "yandex_imat2009")} == {
        "mq2007": "letor3", "clueweb09": "standard", "yandex_imat2009": "lightgbm",
    }  # fmt: skip
    assert params.conventions("yandex_imat2009") == ("letor3", "letor4", "lightgbm")
    assert params.conventions("mq2007") == ("letor3", "letor4")
    params = check(changed("datasets: {clueweb09: {convention: letor4}}"))
    assert params.convention("clueweb09") == "letor4" and params.conventions("clueweb09").count("letor4") == 1


def test_a_contest_gets_the_convention_of_each_data_set(tmp_path):
    contest = {"datasets": ["mq2007"], "methods": ["mart"], "frozen": ["mine"]}
    changes = {"studies": {"contest": contest}}
    changes["datasets"] = raw()["datasets"] | {"mine": {"path": str(tmp_path), "convention": "standard"}}
    found = check(raw(**changes)).study_settings("contest")
    assert found["conventions"] == {"mq2007": "letor4", "mine": "standard"}
