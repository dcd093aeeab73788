# Needs: every result of the data sets that a call is about. Makes: results/provenance.json, what they were made of;
# `gradrank verify` holds it against the checkout. The entries of other data sets stay as they are.
from itertools import chain

from gradrank.pipeline import provenance
from gradrank.pipeline.snapshot import SNAPSHOT, restore_if_empty

if workflow.is_main_process and (restored := restore_if_empty()):
    print(f"{SNAPSHOT}: {len(restored)} outputs restored", file=sys.stderr)


rule provenance:
    input:
        data=lambda _: expand("data/{form}/{dataset}.parquet", form=["parquet", "pairs"], dataset=requested()),
        meta=lambda _: expand("data/parquet/{dataset}.json", dataset=requested()),
        per_query=lambda _: expand(
            "results/{dataset}/{model}/per_query.parquet", dataset=requested(), model=MODELS
        ),
        summaries=lambda _: expand("results/{dataset}/summary.json", dataset=requested()),
    output:
        update("results/provenance.json"),
    log:
        "logs/provenance.log",
    localrule: True  # its input depends on the call's targets, which a job on a cluster does not see
    conda:
        "../envs/gradrank.yaml"
    params:
        code=digest(
            chain(
                stage_files("provenance"),
                *provenance.code_files(params.models[name].model for name in MODELS).values(),
            )
        ),
        values=lambda _: as_json(provenance.in_force(params, requested(), MODELS)),
    shell:
        """
        gradrank provenance \
            --params {params.values:q} \
            --results results \
            --data data/parquet \
            --out {output} \
            >{log} 2>&1
        """
