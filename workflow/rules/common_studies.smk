# What the studies' rules share: which ones a call is about, their settings, what each is made from.
REDUCED = [f"{name}/reduced" for name, values in params.studies.items() if values.reduced]


wildcard_constraints:
    study="|".join([*STUDIES, *REDUCED]),


def requested_studies():
    """The studies this call is about: those named as targets; of plain `snakemake` the reduced ones."""
    targets = workflow.dag_settings.targets
    named = [name for name in STUDIES if name in targets]
    return named or ([] if set(DATASETS) & set(targets) else REDUCED)


def settings_of(name):
    """`studies.<name>`; of a reduced form, which needs no data set, the artificial part alone."""
    name, _, reduced = name.partition("/")
    settings = params.publication(name)
    small = settings.pop("reduced", None)
    return {"artificial": small, "datasets": [], "models": []} if reduced else settings


def measured_for(wildcards):
    settings = settings_of(wildcards.study)
    return expand(
        "results/{dataset}/{model}/per_query.parquet", dataset=settings["datasets"], model=settings["models"]
    )


def experiments_for(wildcards):
    """A job of artificial data a target and draw, where the study has any."""
    draws = settings_of(wildcards.study).get("artificial", {}).get("draws", 0)
    return expand(
        "results/studies/{study}/artificial/{target}-{draw}.json",
        study=wildcards.study,
        target=["net", "poly"],
        draw=range(1, draws + 1),
    )
