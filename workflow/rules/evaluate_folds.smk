# Needs: the scores of a model's folds.
# Makes: results/<dataset>/<model>/per_query.parquet and its stamp evaluation.json, from scores alone.


rule evaluate_folds:
    input:
        data="data/parquet/{dataset}/collection.json",
        scores=lambda wc: plan.fold_files(wc.dataset, wc.model, ["scores.parquet"]),
    output:
        values="results/{dataset}/{model}/per_query.parquet",
        stamp="results/{dataset}/{model}/evaluation.json",
    log:
        "logs/evaluate_folds/{dataset}/{model}.log",
    group:
        lambda wc: plan.group(wc.dataset, wc.model)
    conda:
        "../envs/gradrank.yaml"
    params:
        code=code_digest("evaluate_folds"),
        model=lambda wc: plan.model_options(wc.model),
        seed=params.seeds[0],
        further_seeds=lambda wc: plan.further_seeds(wc.model),
        conventions=",".join(params.evaluation.conventions),
        metrics=",".join(params.evaluation.metrics),
        data=subpath(input.data, parent=True),
        folder=subpath(output.stamp, parent=True),
    shell:
        """
        gradrank evaluate-folds {params.folder} \
            {params.model} \
            --data {params.data} \
            --seed {params.seed} \
            {params.further_seeds} \
            --conventions {params.conventions} \
            --metrics {params.metrics} \
            --code {params.code} \
            >{log} 2>&1
        """
