# Compare methods under one tuning budget: try configurations, choose one per tuner and fold on the validation part,
# train the choices with several seeds, and evaluate them.
#
# Needs: data/parquet/<dataset>/ of the data sets that study.yaml of the contest and of other tuned studies names, and
# data/pairs/<dataset>/ for some methods.
# Makes: in results/studies/<contest>/, trials/ with the trials of every tuner, choices.json, values/ with the test values
# per query, and divisions/ with those on other divisions of the queries. trials.parquet, values.parquet and
# divisions.parquet have the rows of these files. They are in git, so that a contest can be computed in parts
# (docs/contest.md). The reduced form has the same files in results/studies/<contest>/reduced/. The trained models in
# runs/ are not outputs, because these jobs resume from the models that are finished.


rule tune:
    "Train the configurations of one tuner on every fold, and evaluate them on the validation parts."
    input:
        lambda wc: contest.pair_stamps(wc.contest, wc.dataset, [wc.method]),
        data="data/parquet/{dataset}/collection.json",  # the job does not read the test parts
    output:
        "results/studies/{contest}/trials/{dataset}/{method}/tuner{tuner}.parquet",
    log:
        "logs/tune/{contest}/{dataset}/{method}/tuner{tuner}.log",
    benchmark:
        "logs/tune/{contest}/{dataset}/{method}/tuner{tuner}.tsv"
    conda:
        "../envs/gradrank.yaml"
    params:
        code=lambda wc: contest.stage_code(wc.contest, "tune", wc.method),
        plan=lambda wc: contest.tune_options(wc.contest, wc.dataset, wc.method),
        pairs=lambda wc: contest.pairs_option(wc.contest, wc.dataset, [wc.method]),
        convention=lambda wc: settings.convention(wc.dataset),
        definition=lambda wc: plan.convention_definition(wc.dataset),
        seed=settings.seed,
        data=subpath(input.data, parent=True),
    shell:
        """
        gradrank tune \
            --model {wildcards.method} \
            --data {params.data} \
            --tuner {wildcards.tuner} \
            {params.plan} \
            {params.pairs} \
            --convention {params.convention} \
            --seed {params.seed} \
            --out {output} \
            >{log} 2>&1
        """


rule choices:
    "List the choices of all data sets, methods and folds, before any test part is scored."
    input:
        lambda wc: contest.all_trials(wc.contest),
    output:
        "results/studies/{contest}/choices.json",
    log:
        "logs/choices/{contest}.log",
    benchmark:
        "logs/choices/{contest}.tsv"
    localrule: True
    conda:
        "../envs/gradrank.yaml"
    params:
        code=code_digest("choices"),
        datasets=lambda wc: ",".join(settings.studies[wc.contest].datasets),
        methods=lambda wc: contest.choice_arguments(wc.contest),
        seconds=lambda wc: settings.studies[wc.contest].seconds,
    shell:
        """
        gradrank choices {params.methods} \
            --datasets {params.datasets} \
            --seconds {params.seconds} \
            --contest results/studies/{wildcards.contest} \
            >{log} 2>&1
        """


rule refit:
    "Train the choices of one tuner with several seeds, and evaluate them on the test parts, per query."
    input:
        lambda wc: contest.trials(wc.contest, wc.dataset, wc.method),
        lambda wc: ancient(contest.member_values(wc.contest, wc.dataset, wc.method)),
        lambda wc: contest.pair_stamps(wc.contest, wc.dataset, contest.with_members(wc.contest, wc.method)),
        # Written after every choice is made. More tuners change the file, but not the choices of the others.
        choices=ancient("results/studies/{contest}/choices.json"),
        data="data/parquet/{dataset}/collection.json",
    output:
        "results/studies/{contest}/values/{dataset}/{method}/tuner{tuner}.parquet",
    log:
        "logs/refit/{contest}/{dataset}/{method}/tuner{tuner}.log",
    benchmark:
        "logs/refit/{contest}/{dataset}/{method}/tuner{tuner}.tsv"
    conda:
        "../envs/gradrank.yaml"
    params:
        code=lambda wc: contest.stage_code(wc.contest, "refit", wc.method),
        seeds=lambda wc: settings.studies[wc.contest].seeds,
        seconds=lambda wc: settings.studies[wc.contest].seconds,
        pairs=lambda wc: contest.pairs_option(
            wc.contest, wc.dataset, contest.with_members(wc.contest, wc.method)
        ),
        convention=lambda wc: settings.convention(wc.dataset),
        definition=lambda wc: plan.convention_definition(wc.dataset),
        refit=lambda wc: contest.refit_options(wc.contest, wc.dataset, wc.method),
        seed=settings.seed,
        data=subpath(input.data, parent=True),
    shell:
        """
        gradrank refit-choices {wildcards.method} \
            --data {params.data} \
            --tuner {wildcards.tuner} \
            --seeds {params.seeds} \
            --seconds {params.seconds} \
            {params.pairs} \
            {params.refit} \
            --convention {params.convention} \
            --seed {params.seed} \
            --contest results/studies/{wildcards.contest} \
            >{log} 2>&1
        """


rule divisions:
    "Train one frozen configuration on other divisions of the queries, and evaluate it per query."
    input:
        lambda wc: contest.trials(wc.contest, wc.dataset, wc.method),
        lambda wc: ancient(contest.member_divisions(wc.contest, wc.dataset, wc.method)),
        lambda wc: contest.pair_stamps(wc.contest, wc.dataset, contest.with_members(wc.contest, wc.method)),
        choices=ancient("results/studies/{contest}/choices.json"),
        data="data/parquet/{dataset}/collection.json",
    output:
        "results/studies/{contest}/divisions/{dataset}/{method}.parquet",
    log:
        "logs/divisions/{contest}/{dataset}/{method}.log",
    benchmark:
        "logs/divisions/{contest}/{dataset}/{method}.tsv"
    conda:
        "../envs/gradrank.yaml"
    params:
        code=lambda wc: contest.stage_code(wc.contest, "divisions", wc.method),
        divisions=lambda wc: settings.studies[wc.contest].divisions.count,
        seconds=lambda wc: settings.studies[wc.contest].seconds,
        pairs=lambda wc: contest.pairs_option(
            wc.contest, wc.dataset, contest.with_members(wc.contest, wc.method)
        ),
        convention=lambda wc: settings.convention(wc.dataset),
        definition=lambda wc: plan.convention_definition(wc.dataset),
        seed=settings.seed,
        data=subpath(input.data, parent=True),
    shell:
        """
        gradrank divisions {wildcards.method} \
            --data {params.data} \
            --count {params.divisions} \
            --seconds {params.seconds} \
            {params.pairs} \
            --convention {params.convention} \
            --seed {params.seed} \
            --contest results/studies/{wildcards.contest} \
            >{log} 2>&1
        """


# These targets end before the next step, so that each step can be committed to git.
for form in contest.main_forms:

    rule:
        name:
            f"{form}_data"
        input:
            [file for dataset in contest.datasets(form) for file in plan.stored_stamps(dataset)],
        localrule: True

    rule:
        name:
            f"{form}_choices"
        input:
            f"results/studies/{form}/choices.json",
        localrule: True

    for dataset in contest.datasets(form):

        rule:
            name:
                f"{form}_trials_{dataset}"
            input:
                lambda _, form=form, dataset=dataset: contest.all_trials(form, [dataset]),
            localrule: True

        rule:
            name:
                f"{form}_values_{dataset}"
            input:
                lambda _, form=form, dataset=dataset: contest.values(form, [dataset]),
            localrule: True

    if contest.divisions(form):

        rule:
            name:
                f"{form}_divisions"
            input:
                contest.divisions(form),
            localrule: True


# The rule `study` also writes the page of the contest, with the inputs of the contest.
if contest.forms:

    use rule study as contest_study with:
        input:
            lambda wc: contest.page_inputs(wc.study),
        wildcard_constraints:
            study="|".join(contest.forms),

    ruleorder: contest_study > study
