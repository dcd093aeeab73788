# Needs: per_query.parquet of every model, and the data set. Makes: results/<dataset>/summary.json, summary.md,
# queries.parquet and tables/, results/report.html, its tables and figures in results/report/, and
# results/per_query.parquet, which cover every data set and study that has results.
from snakemake.logging import logger


# The log keeps the order: what was printed directly could come before the last jobs' lines.
onsuccess:
    remember()
    if mending.files:
        begin_again()
    if any(job.rule is rules.report.rule for job in workflow.dag.jobs):
        from gradrank.report.closing import closing

        conventions = {dataset: params.convention(dataset) for dataset in requested()}
        logger.info(closing(Results(), conventions))


rule summary:
    input:
        data="data/parquet/{dataset}/collection.json",
        per_query=lambda wc: expand("results/{dataset}/{model}/per_query.parquet", model=MODELS, **wc),
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
    log:
        "logs/summary/{dataset}.log",
    conda:
        "../envs/gradrank.yaml"
    params:
        code=code("summary"),
        folder=subpath(output.json, parent=True),
        models=",".join(MODELS),
        convention=lambda wc: params.convention(wc.dataset),
    shell:
        """
        gradrank summary {params.folder} \
            --models {params.models} \
            --convention {params.convention} \
            --data "$(dirname {input.data})" \
            >{log} 2>&1
        """


rule report:
    input:
        summaries=lambda _: expand("results/{dataset}/summary.json", dataset=requested()),
        studies=lambda _: expand("results/studies/{study}/page.json", study=requested_studies()),
        described="params.yaml",
    output:
        html=report("results/report.html", caption="../report/report.rst", category="Report"),
        tables=directory("results/report"),
        per_query="results/per_query.parquet",
        metrics="results/metrics.json",
    log:
        "logs/report.log",
    localrule: True  # its input depends on the call's targets, which a job on a cluster does not see
    conda:
        "../envs/gradrank.yaml"
    params:
        code=code("report"),
        convention=params.evaluation.convention,
    shell:
        """
        gradrank report \
            --results results \
            --convention {params.convention} \
            --out {output.html} \
            --per-query {output.per_query} \
            --metrics {output.metrics} \
            >{log} 2>&1
        """
