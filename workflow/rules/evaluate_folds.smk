# Evaluate the scores of a method per query. A new metric or convention reruns only this stage, never the training.
#
# Needs: data/parquet/<dataset>/ and scores.parquet of every fold and seed.
# Makes: results/<dataset>/methods/<model>/per_query.parquet and its stamp evaluation.json.


rule evaluate_folds:
    "Evaluate the scores of a method per query."
    input:
        lambda wc: copied(
            [f"data/parquet/{wc.dataset}", *plan.fold_files(wc.dataset, wc.model, ["spec.json"])]
        ),
        data="data/parquet/{dataset}/collection.json",
        scores=lambda wc: plan.fold_files(wc.dataset, wc.model, ["scores.parquet"]),
    output:
        values="results/{dataset}/methods/{model}/per_query.parquet",
        stamp="results/{dataset}/methods/{model}/evaluation.json",
    log:
        "logs/evaluate_folds/{dataset}/{model}.log",
    benchmark:
        "logs/evaluate_folds/{dataset}/{model}.tsv"
    group:
        lambda wc: plan.group(wc.dataset, wc.model)
    conda:
        "../envs/gradrank.yaml"
    params:
        code=code_digest("evaluate_folds"),
        model=lambda wc: plan.model_options(wc.model),
        seed=settings.first_seed,
        further_seeds=lambda wc: plan.further_seeds_option(wc.dataset, wc.model),
        conventions=lambda wc: ",".join(settings.conventions(wc.dataset)),
        metrics=",".join(settings.evaluation.metrics),
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
