# Collect the values that DVC versions, and write the report.
#
# Needs: the records (provenance.json) of data sets and studies, and explanations.json if `run.explanations` is true.
# Makes: results/per_query.parquet, metrics.json and methods.csv with the values of the run's data sets, and their stamp
# run.json; results/plots/ with the curves and values that `dvc plots` draws; results/report.html about everything in
# results/, with its tables and figures in results/report/. The target of one data set or study makes report.html and
# report/ in the folder of that data set or study.


rule collect:
    "Collect the values that DVC versions."
    input:
        lambda _: plan.run_records(),
        lambda _: copied(plan.run_files()),
    output:
        values="results/per_query.parquet",
        metrics="results/metrics.json",
        means="results/methods.csv",
        stamp="results/run.json",
        curves=directory("results/plots/curves"),
        queries=directory("results/plots/queries"),
    log:
        "logs/collect.log",
    benchmark:
        "logs/collect.tsv"
    localrule: True
    conda:
        "../envs/gradrank.yaml"
    params:
        code=code_digest("collect"),
        datasets=",".join(settings.run.datasets),
        results=subpath(output.stamp, parent=True),
    shell:
        """
        gradrank collect \
            --results {params.results} \
            --datasets {params.datasets} \
            >{log} 2>&1
        """


rule report:
    "Write the report."
    input:
        lambda _: plan.run_records(),
        lambda _: plan.explanations(settings.run.datasets),
        lambda _: copied(plan.run_files()),
    output:
        html=report("results/report.html", caption="../report/report.rst", category="Report"),
        files=report(
            directory("results/report"),
            patterns=["{scope}/{figure}.svg"],
            category="Figures",
            labels={"of": "{scope}", "figure": "{figure}"},
        ),
    log:
        "logs/report.log",
    benchmark:
        "logs/report.tsv"
    localrule: True  # it takes seconds
    conda:
        "../envs/gradrank.yaml"
    params:
        code=report_code(),
        results=subpath(output.html, parent=True),
        about="",
        convention=settings.evaluation.convention,
        described=described.digest(plan.studies),
        file=PARAMS,
    shell:
        """
        gradrank report \
            --results {params.results} \
            {params.about} \
            --convention {params.convention} \
            --params {params.file} \
            --out {output.html} \
            >{log} 2>&1
        """


# A rule that is derived from a local rule is not local.
localrules:
    dataset_report,
    study_report,


use rule report as dataset_report with:
    input:
        "results/{dataset}/provenance.json",
        lambda wc: plan.explanations([wc.dataset]),
        lambda wc: copied(plan.dataset_files(wc.dataset)),
    output:
        html=report("results/{dataset}/report.html", caption="../report/report.rst", category="Report"),
        files=report(
            directory("results/{dataset}/report"),
            patterns=["{scope}/{figure}.svg"],
            category="Figures",
            labels={"of": "{scope}", "figure": "{figure}"},
        ),
    log:
        "logs/report/{dataset}.log",
    benchmark:
        "logs/report/{dataset}.tsv"
    params:
        code=report_code(),
        results=subpath(output.html, ancestor=2),
        about="--datasets {dataset}",
        convention=lambda wc: settings.convention(wc.dataset),
        described=described.digest([]),
        file=PARAMS,


use rule report as study_report with:
    input:
        "results/studies/{study}/provenance.json",
        lambda wc: copied(plan.study_files(wc.study)),
    output:
        html=report("results/studies/{study}/report.html", caption="../report/report.rst", category="Report"),
        files=report(
            directory("results/studies/{study}/report"),
            patterns=["{scope}/{figure}.svg"],
            category="Figures",
            labels={"of": "{scope}", "figure": "{figure}"},
        ),
    log:
        "logs/report/{study}.log",
    benchmark:
        "logs/report/{study}.tsv"
    params:
        code=report_code(),
        results=lambda wc, output: output.html.removesuffix(f"studies/{wc.study}/report.html"),
        about="--studies {study}",
        convention=settings.evaluation.convention,
        described=lambda wc: described.digest([wc.study.partition("/")[0]]),
        file=PARAMS,
