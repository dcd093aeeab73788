# Needs: per_query.parquet of every data set and model of `studies.<name>` in params.yaml, and what jobs of the
# study's own make. Makes: results/studies/<name>/: page.json, page.md, numbers.json and tables/, and of a study
# with a reduced form the same in results/studies/<name>/reduced/. Each study's name is a target, report included.


wildcard_constraints:
    study="|".join(params.studies),  # a reduced form's name is <study>/reduced
    job=r"[\w.+=-]+",


rule study_job:
    input:
        data_of_job,
    output:
        "results/studies/{study}/jobs/{job}.json",
    log:
        "logs/study_job/{study}/{job}.log",
    conda:
        "../envs/gradrank.yaml"
    params:
        code=code_of_job,
        name=lambda wc: wc.study.partition("/")[0],
        settings=lambda wc: as_json(jobs_of(wc.study)[wc.job]),
        seed=params.seed,
    shell:
        """
        gradrank study-job {params.name} {wildcards.job} \
            --data data/parquet \
            --settings {params.settings:q} \
            --seed {params.seed} \
            --out {output} \
            >{log} 2>&1
        """


rule study:
    input:
        per_query=measured_for,
        jobs=lambda wc: expand(
            "results/studies/{study}/jobs/{job}.json", study=wc.study, job=jobs_of(wc.study)
        ),
    output:
        page="results/studies/{study}/page.json",
        numbers="results/studies/{study}/numbers.json",
        markdown=report(
            "results/studies/{study}/page.md",
            caption="../report/study.rst",
            category="Studies",
            labels={"study": "{study}"},
        ),
        tables=directory("results/studies/{study}/tables"),
    log:
        "logs/study/{study}.log",
    conda:
        "../envs/gradrank.yaml"
    params:
        code=lambda wc: code_of_page(wc.study),
        name=lambda wc: wc.study.partition("/")[0],
        settings=lambda wc: as_json(params.study_settings(wc.study)),
        out="results/studies/{study}",
    shell:
        """
        gradrank study {params.name} \
            --results results \
            --data data/parquet \
            --settings {params.settings:q} \
            --out {params.out} \
            >{log} 2>&1
        """


for name in STUDIES:

    rule:
        name:
            name
        input:
            lambda _, name=name: recorded([], [name]),
            "results/report.html",
            "results/tracked.json",
        localrule: True
