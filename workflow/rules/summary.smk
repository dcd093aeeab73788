# Needs: the values per query of every method of a data set, and the data set.
# Makes: results/<dataset>/summary.json, summary.md, queries.parquet, tables/ and, last, the stamp provenance.json, which
# records what the results were made of; all but tables/ are in git. `gradrank verify` compares them with the checkout.


rule summary:
    input:
        lambda wc: plan.stored(wc.dataset),
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
