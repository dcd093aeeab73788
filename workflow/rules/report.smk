# Collect the values that DVC versions, and write the report.
#
# Needs: the records (provenance.json) of data sets and studies, and explanations.json if `run.explanations` is true.
# Makes: results/per_query.parquet, metrics.json and methods.csv with the values of the run's data sets, and their stamp
# run.json; results/report.html about everything in results/, with its tables and figures in results/report/. The target
# of one data set or study makes report.html and report/ in the folder of that data set or study.


rule collect:
    "Collect the values that DVC versions."
    input:
        lambda _: plan.run_records(),
    output:
        values="results/per_query.parquet",
        metrics="results/metrics.json",
        means="results/methods.csv",
        stamp="results/run.json",
    log:
        "logs/collect.log",
    localrule: True
    conda:
        "../envs/gradrank.yaml"
    params:
        code=code_digest("collect"),
        datasets=",".join(settings.run.datasets),
    shell:
        """
        gradrank collect \
            --results results \
            --datasets {params.datasets} \
            >{log} 2>&1
        """


rule report:
    "Write the report."
    input:
        lambda _: plan.run_records(),
        lambda _: plan.explanations(settings.run.datasets),
        described=["params.yaml", *map(settings_path, plan.studies)],
    output:
        html=report("results/report.html", caption="../report/report.rst", category="Report"),
        files=directory("results/report"),
    log:
        "logs/report.log",
    localrule: True  # it takes seconds
    conda:
        "../envs/gradrank.yaml"
    params:
        code=report_code(),
        about="",
        convention=settings.evaluation.convention,
    shell:
        """
        gradrank report \
            --results results \
            {params.about} \
            --convention {params.convention} \
            --out {output.html} \
            >{log} 2>&1
        """


use rule report as dataset_report with:
    input:
        "results/{dataset}/provenance.json",
        lambda wc: plan.explanations([wc.dataset]),
        described="params.yaml",
    output:
        html="results/{dataset}/report.html",
        files=directory("results/{dataset}/report"),
    log:
        "logs/report/{dataset}.log",
    params:
        code=report_code(),
        about="--datasets {dataset}",
        convention=lambda wc: settings.convention(wc.dataset),


use rule report as study_report with:
    input:
        "results/studies/{study}/provenance.json",
        described=lambda wc: ["params.yaml", settings_path(wc.study.partition("/")[0])],
    output:
        html="results/studies/{study}/report.html",
        files=directory("results/studies/{study}/report"),
    log:
        "logs/report/{study}.log",
    params:
        code=report_code(),
        about="--studies {study}",
        convention=settings.evaluation.convention,
