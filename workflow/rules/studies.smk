# Run the own jobs of a study, and write its page.
#
# Needs: the values per query of the methods that studies/<name>/study.yaml names. Some jobs read data/parquet/.
# Makes: results/studies/<name>/ with jobs/, page.json, page.md, numbers.json, tables/ and the stamp provenance.json,
# which is written last. Some studies have a file jobs.parquet with the content of jobs/, which is in git. The reduced
# form of a study has the same files in results/studies/<name>/reduced/.


rule study_job:
    "Run one of a study's own jobs."
    input:
        lambda wc: plan.job_inputs(wc.study, wc.job),
        lambda wc: copied(plan.job_folders(wc.study, wc.job)),
    output:
        "results/studies/{study}/jobs/{job}.json",
    log:
        "logs/study_job/{study}/{job}.log",
    benchmark:
        "logs/study_job/{study}/{job}.tsv"
    conda:
        "../envs/gradrank.yaml"
    params:
        code=lambda wc: plan.job_code(wc.study, wc.job),
        name=lambda wc: wc.study.partition("/")[0],
        settings=lambda wc: plan.job_settings(wc.study, wc.job),
        seed=settings.seed,
        root=lambda wc, output: output[0].removesuffix(f"results/studies/{wc.study}/jobs/{wc.job}.json"),
    shell:
        """
        gradrank study-job {params.name} {wildcards.job} \
            --data {params.root}data/parquet \
            --settings {params.settings:q} \
            --seed {params.seed} \
            --out {output} \
            >{log} 2>&1
        """


rule pack:
    "Pack the results of a study's jobs into one file per kind, which is in git."
    input:
        lambda wc: contest.parts(wc.study, wc.kind),
    output:
        "results/studies/{study}/{kind}.parquet",
    log:
        "logs/pack/{study}/{kind}.log",
    benchmark:
        "logs/pack/{study}/{kind}.tsv"
    wildcard_constraints:
        kind="trials|values|divisions|jobs",
    localrule: True
    conda:
        "../envs/gradrank.yaml"
    params:
        code=code_digest("pack"),
        folder=subpath(output[0], parent=True),
    shell:
        "gradrank pack {params.folder} {wildcards.kind} >{log} 2>&1"


rule study:
    "Write the page of a study."
    input:
        lambda wc: plan.study_evaluations(wc.study),
        lambda wc: copied(plan.page_files(wc.study)),
        jobs=lambda wc: plan.page_jobs(wc.study),
    output:
        page="results/studies/{study}/page.json",
        numbers="results/studies/{study}/numbers.json",
        markdown=report(
            "results/studies/{study}/page.md",
            caption="../report/study.rst",
            category="Studies",
            labels={"study": "{study}"},
        ),
        tables=report(
            directory("results/studies/{study}/tables"),
            patterns=["{table}.csv"],
            category="Tables",
            labels={"study": "{study}", "table": "{table}"},
        ),
        stamp="results/studies/{study}/provenance.json",
    log:
        "logs/study/{study}.log",
    benchmark:
        "logs/study/{study}.tsv"
    conda:
        "../envs/gradrank.yaml"
    params:
        code=lambda wc: plan.page_code(wc.study),
        settings=lambda wc: plan.study_settings(wc.study),
        stages=lambda wc: plan.study_code(wc.study),
        root=lambda wc, output: output.page.removesuffix(f"results/studies/{wc.study}/page.json"),
    shell:
        """
        gradrank study {wildcards.study} \
            --results {params.root}results \
            --data {params.root}data/parquet \
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
