# Rules of version 0.1 that no longer exist. Each fails with a message that names its replacement.


for former in ["provenance", "study_provenance", "snapshot"]:

    rule:
        name:
            former
        log:
            f"logs/{former}.log",
        localrule: True
        conda:
            "../envs/gradrank.yaml"
        params:
            command=former.replace("_", "-"),
        shell:
            "gradrank {params.command} >{log} 2>&1"
