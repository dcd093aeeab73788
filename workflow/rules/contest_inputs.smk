# What the rules of a contest ask for: of params.yaml what is tried, of the other methods what one made of them needs.
from gradrank.learning.model import models
from gradrank.tuning.spaces import tuning_modules

CONTESTS = [form for form in ("contest", "contest/reduced") if form in params.studies]
FROZEN = {dataset for form in CONTESTS for dataset in params.studies[form].frozen}
TUNING = "results/studies/{contest}/tuning/{dataset}/{method}"


@cache
def among(form, method):
    """The contest's methods that one made of others' scores may be made of; none for the others."""
    made = [name for name in params.studies[form].methods if models()[name].members(models()[name].Params())]
    return [name for name in params.studies[form].methods if name not in made] if method in made else []


def of_members(pattern):
    """The same file of every such method, of one fold."""
    return lambda wc: expand(
        pattern, contest=wc.contest, dataset=wc.dataset, fold=wc.fold, method=among(wc.contest, wc.method)
    )


def pairs_of(wc):
    return [f"data/pairs/{wc.dataset}/pairs.json"] if models()[wc.method].needs_pairs else []


def pairs_option(wc):
    return f"--pairs data/pairs/{wc.dataset}" if models()[wc.method].needs_pairs else ""


def plan_options(wc):
    own = params.studies[wc.contest]
    made_of = among(wc.contest, wc.method)
    return f"--trials {own.trials} --tuners {own.tuners}" + (
        f" --among {','.join(made_of)}" if made_of else ""
    )


def every_fold(wc, name, dataset=None):
    dataset = dataset or wc.dataset
    own = {"contest": wc.contest, "dataset": dataset, "method": wc.method}
    return expand(f"{TUNING}/fold{{fold}}/{name}", fold=folds(dataset), **own)


def every_choice(wc):
    """Of all that the contest tunes."""
    own = params.studies[wc.contest]
    return [
        f"results/studies/{wc.contest}/tuning/{dataset}/{method}/fold{fold}/choice.json"
        for dataset in own.datasets
        for method in own.methods
        for fold in folds(dataset)
    ]


def of_contest(wc):
    """What the page is about."""
    own = params.studies[wc.study]
    tuned = {"contest": wc.study, "method": own.methods}
    runs = expand(f"{TUNING}/per_query.parquet", dataset=[*own.datasets, *own.frozen], **tuned)
    return runs + expand(f"{TUNING}/trials_test.parquet", dataset=own.datasets, **tuned)


def code_of_method(stage):
    return lambda wc: code(stage, *tuning_modules(models()[wc.method]))
