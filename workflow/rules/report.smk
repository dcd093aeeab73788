# Needs: per_query.parquet of every model. Makes: results/<dataset>/summary.json, summary.md and tables/,
# results/report.html and results/per_query.parquet (both cover every data set that has results).


rule summary:
    input:
        per_query=lambda wc: expand("results/{dataset}/{model}/per_query.parquet", model=MODELS, **wc),
        code=sources("gradrank.summary"),
    output:
        json="results/{dataset}/summary.json",
        markdown=report(
            "results/{dataset}/summary.md",
            caption="../report/summary.rst",
            category="Tables",
            labels={"data set": "{dataset}"},
        ),
        tables=directory("results/{dataset}/tables"),
    params:
        folder=subpath(output.json, parent=True),
        models=MODELS,
        convention=study.evaluation.convention,
    log:
        "logs/summary/{dataset}.log",
    shell:
        """
        gradrank compare {params.folder} \
            --models '{params.models}' \
            --convention {params.convention} \
            > {log} 2>&1
        """


rule report_html:
    input:
        summaries=lambda _: expand("results/{dataset}/summary.json", dataset=requested()),
        code=sources("gradrank.report"),
    output:
        html=report("results/report.html", caption="../report/report.rst", category="Report"),
        per_query="results/per_query.parquet",
    params:
        convention=study.evaluation.convention,
    log:
        "logs/report.log",
    shell:
        """
        gradrank report \
            --results results \
            --convention {params.convention} \
            --out {output.html} \
            --per-query {output.per_query} \
            > {log} 2>&1
        """


rule report:
    input:
        rules.report_html.output,
