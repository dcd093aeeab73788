# Run the own jobs of a study, and write its page.
#
# Needs: the values per query of the methods that studies/<name>/study.yaml names. Some jobs read data/parquet/.
# Makes: results/studies/<name>/ with jobs/, page.json, page.md, numbers.json, tables/ and the stamp provenance.json,
# which is written last. The reduced form of a study has the same files in results/studies/<name>/reduced/.


rule study_job:
    "Run one of a study's own jobs."
    input:
        lambda wc: plan.job_inputs(wc.study, wc.job),
    output:
        "results/studies/{study}/jobs/{job}.json",
    log:
        "logs/study_job/{study}/{job}.log",
    conda:
        "../envs/gradrank.yaml"
    params:
        code=lambda wc: plan.job_code(wc.study, wc.job),
        name=lambda wc: wc.study.partition("/")[0],
        settings=lambda wc: plan.job_settings(wc.study, wc.job),
        seed=settings.seed,
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
    "Write the page of a study."
    input:
        lambda wc: plan.study_evaluations(wc.study),
        jobs=lambda wc: plan.job_files(wc.study),
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
        stamp="results/studies/{study}/provenance.json",
    log:
        "logs/study/{study}.log",
    conda:
        "../envs/gradrank.yaml"
    params:
        code=lambda wc: plan.page_code(wc.study),
        settings=lambda wc: plan.study_settings(wc.study),
        stages=lambda wc: plan.study_code(wc.study),
    shell:
        """
        gradrank study {wildcards.study} \
            --results results \
            --data data/parquet \
            --settings {params.settings:q} \
            --code {params.stages:q} \
            >{log} 2>&1
        """


# These targets run the jobs of one data set, so that a study can be computed in parts.
for study in plan.studies:
    for dataset in plan.job_datasets(study):

        rule:
            name:
                f"{study}_jobs_{dataset}"
            input:
                lambda _, study=study, dataset=dataset: plan.job_files(study, dataset),
            localrule: True

    if plan.job_datasets(study):

        rule:
            name:
                f"{study}_data"
            input:
                [file for dataset in plan.job_datasets(study) for file in plan.stored_stamps(dataset)],
            localrule: True
