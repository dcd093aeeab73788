# Needs: provenance.json of every data set and study of the run. Makes: results/snapshot/, what they are about, and
# results/methods.csv, the methods' means: for DVC, and the same bytes on every machine.


rule snapshot:
    input:
        lambda _: records(requested(), requested_studies()),
    output:
        folder=directory("results/snapshot"),
        means="results/methods.csv",
    log:
        "logs/snapshot.log",
    localrule: True  # as report
    conda:
        "../envs/gradrank.yaml"
    params:
        code=code("snapshot"),
    shell:
        """
        gradrank snapshot {input} \
            --means {output.means} \
            >{log} 2>&1
        """
