# Explain the best methods of a data set, if `run.explanations` of params.yaml is true.
#
# Needs: data/parquet/<dataset>/, the summary of the data set, and the models and scores of its methods.
# Makes: results/<dataset>/explanations.json with the importance of the features, and the contributions of the features
# to the order of pairs of documents. The report shows it on a page of its own. The file is not in git, and no record
# names it.


rule explanations:
    "Explain what the best methods of a data set learned."
    input:
        lambda wc: plan.explained_files(wc.dataset),
        lambda wc: plan.evaluations(wc.dataset),
        lambda wc: copied([f"data/parquet/{wc.dataset}", f"results/{wc.dataset}/summary.json"]),
        lambda wc: copied(plan.method_files(wc.dataset, plan.models(wc.dataset))),
        data="data/parquet/{dataset}/collection.json",
        summary="results/{dataset}/provenance.json",
    output:
        "results/{dataset}/explanations.json",
    log:
        "logs/explanations/{dataset}.log",
    benchmark:
        "logs/explanations/{dataset}.tsv"
    conda:
        "../envs/gradrank.yaml"
    params:
        code=code_digest("explanations"),
        convention=lambda wc: settings.convention(wc.dataset),
        seed=settings.seed,
        data=subpath(input.data, parent=True),
        folder=subpath(output[0], parent=True),
    shell:
        """
        gradrank explanations {params.folder} \
            --data {params.data} \
            --convention {params.convention} \
            --seed {params.seed} \
            --code {params.code} \
            >{log} 2>&1
        """
