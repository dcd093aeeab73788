# Compare the methods of a data set, with paired tests.
#
# Needs: data/parquet/<dataset>/, data/pairs/<dataset>/ and the values per query of every method.
# Makes: results/<dataset>/ with summary.json, summary.md, queries.parquet, tables/ and the stamp provenance.json, which
# is written last and records the data, parameters, code and package versions of the results. All but tables/ are in
# git.


rule summary:
    "Compare the methods of a data set."
    input:
        lambda wc: plan.evaluations(wc.dataset),
        lambda wc: copied(
            [f"data/parquet/{wc.dataset}", *plan.method_files(wc.dataset, plan.models(wc.dataset))]
        ),
        data="data/parquet/{dataset}/collection.json",
        pairs="data/pairs/{dataset}/pairs.json",
    output:
        json="results/{dataset}/summary.json",
        markdown=report(
            "results/{dataset}/summary.md",
            caption="../report/summary.rst",
            category="Tables",
            labels={"data set": "{dataset}"},
        ),
        queries="results/{dataset}/queries.parquet",
        tables=report(
            directory("results/{dataset}/tables"),
            patterns=["{table}.csv"],
            category="Tables",
            labels={"data set": "{dataset}", "table": "{table}"},
        ),
        stamp="results/{dataset}/provenance.json",
    log:
        "logs/summary/{dataset}.log",
    benchmark:
        "logs/summary/{dataset}.tsv"
    conda:
        "../envs/gradrank.yaml"
    params:
        code=code_digest("summary"),
        settings=lambda wc: plan.dataset_settings(wc.dataset),
        data=subpath(input.data, parent=True),
        folder=subpath(output.json, parent=True),
    shell:
        """
        gradrank summary {params.folder} \
            --settings {params.settings:q} \
            --data {params.data} \
            >{log} 2>&1
        """
