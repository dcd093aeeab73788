# Compare methods under one tuning budget: try configurations, choose one per tuner and fold on the validation part,
# train the choices with several seeds, and evaluate them.
#
# Needs: data/parquet/<dataset>/ of the data sets that `studies.contest` of params.yaml names, and data/pairs/<dataset>/
# for some methods.
# Makes: results/studies/contest/tuning/<dataset>/<method>/ with the trials and the choice of every fold and the values
# per query, and results/studies/contest/runs/tuner<t>/seed<s>/ with the trained choices. The reduced form of the
# contest has the same folders in results/studies/contest/reduced/. The trained models are not outputs, because
# Snakemake removes the outputs of a killed job, and these jobs resume from the models that are finished.

TUNING = "results/studies/{contest}/tuning/{dataset}/{method}"


rule tune:
    "Train the configurations of every tuner on one fold, and evaluate them on its validation part."
    input:
        lambda wc: contest.pair_stamps(wc.dataset, wc.method),
        lambda wc: contest.member_files(wc.contest, wc.dataset, wc.method, wc.fold, "choice.json"),
        data="data/parquet/{dataset}/collection.json",  # the job does not read the test part
    output:
        f"{TUNING}/fold{{fold}}/trials.parquet",
    log:
        "logs/tune/{contest}/{dataset}/{method}/fold{fold}.log",
    # One cluster job per method and fold runs the trials, the choice and the training of the choice.
    group:
        "contest.{dataset}.{method}.{fold}"
    conda:
        "../envs/gradrank.yaml"
    params:
        code=lambda wc: contest.stage_code("tune", wc.method),
        plan=lambda wc: contest.tune_options(wc.contest, wc.method),
        pairs=lambda wc: contest.pairs_option(wc.dataset, wc.method),
        convention=lambda wc: settings.convention(wc.dataset),
        definition=lambda wc: plan.convention_definition(wc.dataset),
        seed=settings.seed,
        data=subpath(input.data, parent=True),
        out=subpath(output[0], parent=True),
    shell:
        """
        gradrank tune \
            --model {wildcards.method} \
            --data {params.data} \
            --fold {wildcards.fold} \
            {params.plan} \
            {params.pairs} \
            --convention {params.convention} \
            --seed {params.seed} \
            --out {params.out} \
            >{log} 2>&1
        """


rule select:
    "Choose the best configuration of each tuner by its validation value."
    input:
        f"{TUNING}/fold{{fold}}/trials.parquet",
    output:
        f"{TUNING}/fold{{fold}}/choice.json",
    log:
        "logs/select/{contest}/{dataset}/{method}/fold{fold}.log",
    wildcard_constraints:
        dataset="|".join(sorted(set(plan.datasets) - contest.frozen)),
    group:
        "contest.{dataset}.{method}.{fold}"
    conda:
        "../envs/gradrank.yaml"
    params:
        code=code_digest("select"),
        out=subpath(output[0], parent=True),
    shell:
        """
        gradrank select {params.out} \
            >{log} 2>&1
        """


rule freeze:
    "Choose configurations for a fold of a frozen data set by the trials of the first data set."
    input:
        lambda wc: contest.source_trials(wc.contest, wc.method),
    output:
        f"{TUNING}/fold{{fold}}/choice.json",
    log:
        "logs/freeze/{contest}/{dataset}/{method}/fold{fold}.log",
    wildcard_constraints:
        dataset="|".join(sorted(contest.frozen)) or "(?!)",
    group:
        "contest.{dataset}.{method}.{fold}"
    conda:
        "../envs/gradrank.yaml"
    params:
        code=code_digest("freeze"),
        out=subpath(output[0], parent=True),
    shell:
        """
        gradrank freeze {params.out} $(dirname {input}) \
            >{log} 2>&1
        """


rule choices:
    "List the choices of all data sets, methods and folds, before any test part is scored."
    input:
        lambda wc: contest.choices(wc.contest),
    output:
        "results/studies/{contest}/choices.json",
    log:
        "logs/choices/{contest}.log",
    localrule: True
    conda:
        "../envs/gradrank.yaml"
    params:
        code=code_digest("choices"),
        datasets=lambda wc: ",".join(settings.studies[wc.contest].datasets),
        methods=lambda wc: ",".join(settings.studies[wc.contest].methods),
    shell:
        """
        gradrank choices \
            --datasets {params.datasets} \
            --methods {params.methods} \
            --contest results/studies/{wildcards.contest} \
            >{log} 2>&1
        """


rule refit:
    "Train the choices of one fold with several seeds."
    input:
        lambda wc: contest.pair_stamps(wc.dataset, wc.method),
        lambda wc: contest.member_files(wc.contest, wc.dataset, wc.method, wc.fold, "refits.json"),
        choice=f"{TUNING}/fold{{fold}}/choice.json",
        data="data/parquet/{dataset}/collection.json",
    output:
        f"{TUNING}/fold{{fold}}/refits.json",
    log:
        "logs/refit/{contest}/{dataset}/{method}/fold{fold}.log",
    group:
        "contest.{dataset}.{method}.{fold}"
    conda:
        "../envs/gradrank.yaml"
    params:
        code=lambda wc: contest.stage_code("refit", wc.method),
        seeds=lambda wc: settings.studies[wc.contest].seeds,
        pairs=lambda wc: contest.pairs_option(wc.dataset, wc.method),
        convention=lambda wc: settings.convention(wc.dataset),
        definition=lambda wc: plan.convention_definition(wc.dataset),
        seed=settings.seed,
        data=subpath(input.data, parent=True),
        out=subpath(output[0], parent=True),
    shell:
        """
        gradrank refit {params.out} \
            --data {params.data} \
            --fold {wildcards.fold} \
            --seeds {params.seeds} \
            {params.pairs} \
            --convention {params.convention} \
            --seed {params.seed} \
            --contest results/studies/{wildcards.contest} \
            >{log} 2>&1
        """


rule evaluate_refits:
    "Evaluate the trained choices of all folds on the test parts, per query."
    input:
        lambda wc: contest.fold_files(wc.contest, wc.dataset, wc.method, "refits.json"),
        data="data/parquet/{dataset}/collection.json",
    output:
        f"{TUNING}/per_query.parquet",
    log:
        "logs/evaluate_refits/{contest}/{dataset}/{method}.log",
    group:
        "contest.{dataset}.{method}"
    conda:
        "../envs/gradrank.yaml"
    params:
        code=code_digest("evaluate_refits"),
        seeds=lambda wc: settings.studies[wc.contest].seeds,
        convention=lambda wc: settings.convention(wc.dataset),
        data=subpath(input.data, parent=True),
    shell:
        """
        gradrank evaluate-refits {wildcards.method} \
            --data {params.data} \
            --seeds {params.seeds} \
            --convention {params.convention} \
            --contest results/studies/{wildcards.contest} \
            >{log} 2>&1
        """


rule score_trials:
    "Evaluate all trials on the test parts, after every choice is made."
    input:
        "results/studies/{contest}/choices.json",  # written after every choice is made
        data="data/parquet/{dataset}/collection.json",
    output:
        f"{TUNING}/trials_test.parquet",
    log:
        "logs/score_trials/{contest}/{dataset}/{method}.log",
    group:
        "contest.{dataset}.{method}"
    conda:
        "../envs/gradrank.yaml"
    params:
        code=lambda wc: contest.stage_code("score_trials", wc.method),
        convention=lambda wc: settings.convention(wc.dataset),
        data=subpath(input.data, parent=True),
    shell:
        """
        gradrank score-trials {wildcards.method} \
            --data {params.data} \
            --convention {params.convention} \
            --contest results/studies/{wildcards.contest} \
            >{log} 2>&1
        """


# The rule `study` also writes the page of the contest, with the inputs of the contest.
if contest.forms:

    use rule study as contest_study with:
        input:
            lambda wc: contest.page_inputs(wc.study),
        wildcard_constraints:
            study="|".join(contest.forms),

    ruleorder: contest_study > study
