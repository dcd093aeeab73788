# Needs: data/parquet/<dataset>/ of the collections that `studies.contest` names, and pairs where a method asks for them.
# Makes: results/studies/contest/tuning/<dataset>/<method>/, the trials of every fold, the frozen choices and their values
# on the test part, and results/studies/contest/runs/tuner<t>/seed<s>/, the choices trained anew; of the reduced form the
# same in results/studies/contest/reduced/. trials.parquet and refits.json stand for the models that a job made with
# them, which are no outputs: Snakemake would remove what a job that was killed goes on with.


wildcard_constraints:
    contest="|".join(CONTESTS) or "(?!)",
    method=METHOD,


rule tune:
    input:
        pairs_of,
        of_members(f"{TUNING}/fold{{fold}}/choice.json"),
        data="data/parquet/{dataset}/collection.json",  # which names the parts' files; the test part's is not read
    output:
        f"{TUNING}/fold{{fold}}/trials.parquet",
    log:
        "logs/tune/{contest}/{dataset}/{method}/fold{fold}.log",
    # On a cluster a method's fold is one job: its trials, its choice, its runs.
    group:
        "contest.{dataset}.{method}.{fold}"
    conda:
        "../envs/gradrank.yaml"
    params:
        code=code_of_method("tune"),
        plan=plan_options,
        pairs=pairs_option,
        seed=params.seed,
    shell:
        """
        gradrank tune \
            --model {wildcards.method} \
            --data "$(dirname {input.data})" \
            --fold {wildcards.fold} \
            {params.plan} \
            {params.pairs} \
            --seed {params.seed} \
            --out "$(dirname {output})" \
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
        dataset="|".join(sorted(set(DATASETS) - FROZEN)),
    group:
        "contest.{dataset}.{method}.{fold}"
    conda:
        "../envs/gradrank.yaml"
    params:
        code=code("select"),
    shell:
        """
        gradrank select "$(dirname {output})" \
            >{log} 2>&1
        """


rule freeze:
    input:
        lambda wc: every_fold(wc, "trials.parquet", params.studies[wc.contest].datasets[0]),
    output:
        f"{TUNING}/fold{{fold}}/choice.json",
    log:
        "logs/freeze/{contest}/{dataset}/{method}/fold{fold}.log",
    wildcard_constraints:
        dataset="|".join(sorted(FROZEN)) or "(?!)",
    group:
        "contest.{dataset}.{method}.{fold}"
    conda:
        "../envs/gradrank.yaml"
    params:
        code=code("freeze"),
    shell:
        """
        gradrank freeze "$(dirname {output})" $(dirname {input}) \
            >{log} 2>&1
        """


rule choices:
    input:
        every_choice,
    output:
        "results/studies/{contest}/choices.json",
    log:
        "logs/choices/{contest}.log",
    localrule: True
    conda:
        "../envs/gradrank.yaml"
    params:
        code=code("choices"),
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
        pairs_of,
        of_members(f"{TUNING}/fold{{fold}}/refits.json"),
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
        code=code_of_method("refit"),
        seeds=lambda wc: params.studies[wc.contest].seeds,
        pairs=pairs_option,
        seed=params.seed,
    shell:
        """
        gradrank refit "$(dirname {output})" \
            --data "$(dirname {input.data})" \
            --fold {wildcards.fold} \
            --seeds {params.seeds} \
            {params.pairs} \
            --seed {params.seed} \
            --contest results/studies/{wildcards.contest} \
            >{log} 2>&1
        """


rule evaluate_refits:
    input:
        lambda wc: every_fold(wc, "refits.json"),
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
        code=code("evaluate_refits"),
        seeds=lambda wc: params.studies[wc.contest].seeds,
        convention=lambda wc: params.convention(wc.dataset),
    shell:
        """
        gradrank evaluate-refits {wildcards.method} \
            --data "$(dirname {input.data})" \
            --seeds {params.seeds} \
            --convention {params.convention} \
            --contest results/studies/{wildcards.contest} \
            >{log} 2>&1
        """


rule score_trials:
    input:
        "results/studies/{contest}/choices.json",  # nothing is chosen any more
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
        code=code_of_method("score_trials"),
        convention=lambda wc: params.convention(wc.dataset),
    shell:
        """
        gradrank score-trials {wildcards.method} \
            --data "$(dirname {input.data})" \
            --convention {params.convention} \
            --contest results/studies/{wildcards.contest} \
            >{log} 2>&1
        """


# The page is made as every study's is; what it is about, rules of its own have made.
if CONTESTS:

    use rule study as contest_study with:
        input:
            of_contest,
        wildcard_constraints:
            study="|".join(CONTESTS),

    ruleorder: contest_study > study
