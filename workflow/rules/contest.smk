# Needs: data/parquet/<dataset>/ of the collections that `studies.contest` names, and pairs where a method needs them.
# Makes: results/studies/contest/tuning/<dataset>/<method>/: the trials of every fold, the frozen choices and their values on
# the test part; and results/studies/contest/runs/tuner<t>/seed<s>/, the choices trained again with several seeds. The reduced
# form has the same below results/studies/contest/reduced/. trials.parquet and refits.json stand for the models next to them,
# which are no outputs: Snakemake would remove what a killed job resumes from.

TUNING = "results/studies/{contest}/tuning/{dataset}/{method}"


rule tune:
    input:
        lambda wc: contest.pairs(wc.dataset, wc.method),
        lambda wc: contest.member_files(wc.contest, wc.dataset, wc.method, wc.fold, "choice.json"),
        data="data/parquet/{dataset}/collection.json",  # the test part is not read
    output:
        f"{TUNING}/fold{{fold}}/trials.parquet",
    log:
        "logs/tune/{contest}/{dataset}/{method}/fold{fold}.log",
    # On a cluster one job: the trials, the choice and the runs of a method's fold.
    group:
        "contest.{dataset}.{method}.{fold}"
    conda:
        "../envs/gradrank.yaml"
    params:
        code=lambda wc: contest.code("tune", wc.method),
        plan=lambda wc: contest.tune_options(wc.contest, wc.method),
        pairs=lambda wc: contest.pairs_option(wc.dataset, wc.method),
        seed=params.seed,
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
            --seed {params.seed} \
            --out {params.out} \
            >{log} 2>&1
        """


rule select:
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
        datasets=lambda wc: ",".join(params.studies[wc.contest].datasets),
        methods=lambda wc: ",".join(params.studies[wc.contest].methods),
    shell:
        """
        gradrank choices \
            --datasets {params.datasets} \
            --methods {params.methods} \
            --contest results/studies/{wildcards.contest} \
            >{log} 2>&1
        """


rule refit:
    input:
        lambda wc: contest.pairs(wc.dataset, wc.method),
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
        code=lambda wc: contest.code("refit", wc.method),
        seeds=lambda wc: params.studies[wc.contest].seeds,
        pairs=lambda wc: contest.pairs_option(wc.dataset, wc.method),
        seed=params.seed,
        data=subpath(input.data, parent=True),
        out=subpath(output[0], parent=True),
    shell:
        """
        gradrank refit {params.out} \
            --data {params.data} \
            --fold {wildcards.fold} \
            --seeds {params.seeds} \
            {params.pairs} \
            --seed {params.seed} \
            --contest results/studies/{wildcards.contest} \
            >{log} 2>&1
        """


rule evaluate_refits:
    input:
        lambda wc: contest.every_fold(wc.contest, wc.dataset, wc.method, "refits.json"),
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
        seeds=lambda wc: params.studies[wc.contest].seeds,
        convention=lambda wc: params.convention(wc.dataset),
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
    input:
        "results/studies/{contest}/choices.json",  # written once everything is chosen
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
        code=lambda wc: contest.code("score_trials", wc.method),
        convention=lambda wc: params.convention(wc.dataset),
        data=subpath(input.data, parent=True),
    shell:
        """
        gradrank score-trials {wildcards.method} \
            --data {params.data} \
            --convention {params.convention} \
            --contest results/studies/{wildcards.contest} \
            >{log} 2>&1
        """


# The page is written as every study's is, from the files that the rules above make.
if contest.forms:

    use rule study as contest_study with:
        input:
            lambda wc: contest.page_inputs(wc.study),
        wildcard_constraints:
            study="|".join(contest.forms),

    ruleorder: contest_study > study
