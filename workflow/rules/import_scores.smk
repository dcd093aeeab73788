# Import the scores of another program as one fold of a method.
#
# Needs: data/parquet/<dataset>/ and the score files that params.yaml names.
# Makes: results/<dataset>/methods/<method>/fold<k>/ with the same files as the rule `train`.


rule import_scores:
    "Import the scores of another program as one fold of a method."
    input:
        lambda wc: [local(file) for file in plan.score_files(wc.dataset, wc.model, wc.fold)],
        lambda wc: copied([f"data/parquet/{wc.dataset}"]),
        data="data/parquet/{dataset}/collection.json",
    output:
        spec="results/{dataset}/methods/{model}/fold{fold}/spec.json",
        scores="results/{dataset}/methods/{model}/fold{fold}/scores.parquet",
        history="results/{dataset}/methods/{model}/fold{fold}/history.parquet",
        model=directory("results/{dataset}/methods/{model}/fold{fold}/model"),
    log:
        "logs/import_scores/{dataset}/{model}/fold{fold}.log",
    benchmark:
        "logs/import_scores/{dataset}/{model}/fold{fold}.tsv"
    wildcard_constraints:
        model=IMPORTED,
    group:
        "{dataset}.{model}" if SHARED else None
    localrule: not SHARED
    conda:
        "../envs/gradrank.yaml"
    params:
        code=lambda wc: plan.training_code(wc.model),
        content=lambda wc: plan.content_digest(plan.score_files(wc.dataset, wc.model, wc.fold)),
        scores=lambda wc: plan.score_pattern(wc.model),
        seed=settings.first_seed,
        data=subpath(input.data, parent=True),
        out=subpath(output.spec, parent=True),
    shell:
        """
        gradrank import-scores {params.scores:q} \
            --data {params.data} \
            --fold {wildcards.fold} \
            --seed {params.seed} \
            --code {params.code} \
            --out {params.out} \
            >{log} 2>&1
        """
