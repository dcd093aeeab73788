# Compare the methods of a data set, with paired tests.
#
# Needs: data/parquet/<dataset>/, data/pairs/<dataset>/ and the values per query of every method.
# Makes: results/<dataset>/ with summary.json, summary.md, queries.parquet, tables/ and the stamp provenance.json, which
# is written last and records the data, parameters, code and package versions of the results. All but tables/ are in
# git.


rule summary:
    "Compare the methods of a data set."
    input:
        lambda wc: plan.stored_stamps(wc.dataset),
        lambda wc: plan.evaluations(wc.dataset),
    output:
        json="results/{dataset}/summary.json",
        markdown=report(
            "results/{dataset}/summary.md",
            caption="../report/summary.rst",
            category="Tables",
            labels={"data set": "{dataset}"},
        ),
        queries="results/{dataset}/queries.parquet",
        tables=directory("results/{dataset}/tables"),
        stamp="results/{dataset}/provenance.json",
    log:
        "logs/summary/{dataset}.log",
    conda:
        "../envs/gradrank.yaml"
    params:
        code=code_digest("summary"),
        settings=lambda wc: plan.dataset_settings(wc.dataset),
        folder=subpath(output.json, parent=True),
    shell:
        """
        gradrank summary {params.folder} \
            --settings {params.settings:q} \
            --data data/parquet/{wildcards.dataset} \
            >{log} 2>&1
        """
