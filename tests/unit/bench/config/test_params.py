"""Every fault in params.yaml is named by its path, with the nearest valid name, before any job starts."""

from pathlib import Path

import pytest
import yaml

from gradrank.base.errors import GradrankError
from gradrank.bench.config.params import check, load, with_studies
from gradrank.training.registry import models

SHIPPED = Path(__file__).parents[4] / "params.yaml"


def raw(**changes):
    """Return the shipped settings with top-level keys replaced; `studies` has the settings of all studies."""
    return with_studies(yaml.safe_load(SHIPPED.read_text()), str(SHIPPED)) | changes


def faults_of(settings):
    """Return the faults of the settings, each with the name of its file."""
    with pytest.raises(GradrankError) as caught:
        check(settings)
    file, faults = "", []
    for line in str(caught.value).splitlines():
        if line.startswith(" "):
            faults.append(f"{file} {line.strip()}")
        else:
            file = line
    return "\n".join(faults or [file])


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
studies: [1] => params.yaml: studies:
run: {datasets: []} => run.datasets:
run: {datasets: [mq2007], threads: 0} => run.threads
run: {datasets: [mq2007], threads: {lamdamart: 2}} => run.threads: unknown model 'lamdamart'
run: {datasets: [mq2007], threads: {lambdamart: 2, ranksvm: 2}} => run.threads.ranksvm: this method trains
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
datasets: {My Data: {path: x}} => Fix: call your own data `my_data`
datasets: {MQ2008: {path: x}} => Fix: call your own data `my_mq2008`
datasets: {mq2008: {path: x}} => Fix: call your own data `my_mq2008`
datasets: {mine: {}} => datasets.mine:
datasets: {mine: {path: /no/such/folder}} => datasets.mine.path:
datasets: {mine: {path: ~nobody-at-all/x}} => (got '~nobody-at-all/x')
datasets: {mine: {path: "/data/{fold}"}} => datasets.mine.path:
evaluation: {metrics: [ndgc@10]} => evaluation.metrics:
evaluation: {convention: trec} => evaluation.conventions:
evaluation: {convention: letor} => evaluation.convention: unknown convention 'letor' (did you mean 'letor4'?)
evaluation: {conventions: [letor4, treck]} => unknown convention 'treck' (did you mean 'trec'?)
studies: {arsm: {models: [ranksv]}} => arsm/study.yaml: models: unknown model 'ranksv' (did you mean 'ranksvm'?)
studies: {arsm: {datasets: [mq207]}} => arsm/study.yaml: datasets:
studies: {arsm: {variants: {ranksvm: {}}}} => arsm/study.yaml: variants.ranksvm:
studies: {arsm: {variants: {deep: {model: x}}}} => arsm/study.yaml: variants.deep.model:
studies: {arsm: {modles: []}} => arsm/study.yaml: modles:
studies: {arsm: 3} => arsm/study.yaml: Input should be
studies: {asrm: {}} => asrm/study.yaml: unknown study (did you mean 'arsm'?)
studies: {arsm: {reduced: {models: [x]}}} => arsm/study.yaml: reduced.models:
studies: {arsm: {reduced: {draws: 1}}} => arsm/study.yaml: reduced.draws:
studies: {ranknet2005: {artificial: {draws: 0, sizes: [100]}}} => ranknet2005/study.yaml: artificial.draws:
studies: {ranknet2005: {artificial: {draws: 1, sizes: [99]}}} => ranknet2005/study.yaml: artificial.sizes.0:
studies: {contest: {methods: [ranksv]}} => contest/study.yaml: methods: Value error, unknown model 'ranksv'
studies: {contest: {methods: [mart, mart]}} => contest/study.yaml: methods:
studies: {contest: {datasets: [mq2007], methods: [mart], trials: 0}} => contest/study.yaml: trials:
studies: {contest: {datasets: [mq2007], methods: [mart], frozen: [mq2007]}} => contest/study.yaml: Value error, mq2007:
studies: {contest: {datasets: [mq2007], methods: [mart], frozen: [mq2009]}} => contest/study.yaml: frozen:
"""


@pytest.mark.parametrize("line", FAULTS.strip().splitlines())
def test_a_fault_is_named_by_its_path(line):
    text, message = line.split(" => ")
    assert message in faults_of(changed(text))


def test_a_run_and_own_data_are_enough(tmp_path):
    (tmp_path / "data.txt").write_text("1 qid:1 1:0.5\n")
    own = {"my_data": {"path": str(tmp_path / "data.txt")}}
    settings = check({"run": {"datasets": ["my_data"], "models": ["ranksvm"]}, "datasets": own})
    assert settings.model_names("my_data") == ["ranksvm"]
    assert settings.evaluation.metrics and settings.evaluation.convention in settings.evaluation.conventions


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


def test_settings_of_studies_are_found_beside_params_yaml_in_both_forms(tmp_path):
    params = yaml.safe_load(SHIPPED.read_text())
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(params))
    assert load(tmp_path / "params.yaml").studies == {}
    (tmp_path / "studies/pair_targets").mkdir(parents=True)
    (tmp_path / "studies/pair_targets/study.yaml").write_text("draws: 4\nsizes: [50]\nreduced: {draws: 3}\n")
    (tmp_path / "studies/average_precision.yaml").write_text("# no settings\n")
    studies = load(tmp_path / "params.yaml").studies
    assert [*studies] == ["average_precision", "pair_targets", "pair_targets/reduced"]
    assert studies["pair_targets/reduced"].draws == 3
    (tmp_path / "studies/pair_targets/study.yaml").write_text("draws: 4\nsizes: [5]\nsize: 1\n")
    (tmp_path / "studies/average_precision.yaml").write_text("models: [mrat]\n")
    with pytest.raises(GradrankError) as caught:
        load(tmp_path / "params.yaml")
    lines = str(caught.value).splitlines()
    files = [f"{tmp_path}/studies/{name}:" for name in ("pair_targets/study.yaml", "average_precision.yaml")]
    assert [line for line in lines if not line.startswith(" ")] == files
    assert any("size: unknown key" in line for line in lines) and "'mrat'" in lines[-1]


def test_every_unreadable_file_of_a_study_is_named(tmp_path):
    (tmp_path / "params.yaml").write_text(SHIPPED.read_text())
    for folder in ("arsm", "contest"):
        (tmp_path / "studies" / folder).mkdir(parents=True)
    (tmp_path / "studies/arsm/study.yaml").write_text("a: 1\na: 2\n")
    (tmp_path / "studies/contest/study.yaml").write_text("- list\n")
    (tmp_path / "studies/contest.yaml").write_text("trials: 3\n")
    with pytest.raises(GradrankError) as caught:
        load(tmp_path / "params.yaml")
    message = str(caught.value)
    for file in ("arsm/study.yaml", "contest/study.yaml", "contest.yaml"):
        assert f"{tmp_path}/studies/{file}" in message
    assert "given in line 1 and again in line 2" in message


@pytest.mark.parametrize("section", [{}, None, {"contest": {"trials": 3}, "arsm": None}, [1]])
def test_studies_in_params_yaml_are_refused_with_the_place_where_they_belong(tmp_path, section):
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(yaml.safe_load(SHIPPED.read_text()) | {"studies": section}))
    with pytest.raises(GradrankError, match=r"params.yaml: .*Fix: move .*studies/<name>/study.yaml") as caught:
        load(tmp_path / "params.yaml")
    assert all(name in str(caught.value) for name in (section if isinstance(section, dict) else ()))


def test_settings_without_code_are_refused_by_name(tmp_path):
    (tmp_path / "params.yaml").write_text(SHIPPED.read_text())
    (tmp_path / "studies").mkdir()
    (tmp_path / "studies/my_study.yaml").write_text("draws: 4\n")
    with pytest.raises(GradrankError, match=r"studies/my_study.yaml:\n  unknown study \(.* studies/my_study.py"):
        load(tmp_path / "params.yaml")


@pytest.mark.parametrize("threads", [3, {"lambdamart": 3}])
def test_threads_are_those_of_methods_that_can_use_several(threads):
    settings = check(raw(run={"datasets": ["mq2007"], "threads": threads}))
    assert settings.threads("lambdamart") == 3 and settings.threads("ranksvm") == 1
    assert settings.threads("mart") == (3 if threads == 3 else 1)


def test_skip_leaves_out_the_methods_that_do_not_accept_missing_values(tmp_path):
    run = {"datasets": ["my_data"], "models": ["ranksvm", "lambdamart", "regression"]}
    names = {}
    for skip in (False, True):
        own = {"my_data": {"path": str(tmp_path), "skip": skip}}
        settings = check({"run": run, "datasets": own})
        names[skip] = settings.model_names("my_data"), settings.skipped("my_data")
    assert names[False] == (["lambdamart", "ranksvm", "regression"], [])
    assert names[True] == (["lambdamart"], ["ranksvm", "regression"])
