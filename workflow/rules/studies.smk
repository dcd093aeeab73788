# Needs: per_query.parquet of every data set and model of `studies.<name>` in params.yaml, and what jobs of the
# study's own make. Makes: results/studies/<name>/: page.json, page.md, numbers.json and tables/, and of a study
# with a reduced form the same in results/studies/<name>/reduced/. Each study's name is a target, report included.


rule artificial:
    output:
        "results/studies/{study}/artificial/{target}-{draw}.json",
    log:
        "logs/artificial/{study}/{target}-{draw}.log",
    wildcard_constraints:
        target="net|poly",
        draw=r"\d+",
    conda:
        "../envs/gradrank.yaml"
    params:
        code=code("study", "gradrank.studies.ranknet2005.experiments"),
        sizes=lambda wc: ",".join(map(str, settings_of(wc.study)["artificial"]["sizes"])),
        tie_sizes=lambda wc: ",".join(map(str, settings_of(wc.study)["artificial"]["tie_sizes"])),
        seed=params.seed,
    shell:
        """
        gradrank artificial \
            --target {wildcards.target} \
            --draw {wildcards.draw} \
            --sizes {params.sizes} \
            --tie-sizes "{params.tie_sizes}" \
            --seed {params.seed} \
            --out {output} \
            >{log} 2>&1
        """


rule study:
    input:
        per_query=measured_for,
        experiments=experiments_for,
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
        code=lambda wc: code("study", f"gradrank.studies.{wc.study.split('/')[0]}"),
        name=lambda wc: wc.study.split("/")[0],
        settings=lambda wc: as_json(settings_of(wc.study)),
        out=subpath(output.page, parent=True),
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
            f"results/studies/{name}/page.json",
            "results/report.html",
        localrule: True
