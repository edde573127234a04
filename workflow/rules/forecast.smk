# SPDX-License-Identifier: BSD-3-Clause
# Forecast of the time and memory of a scale. No other rule needs it, and it starts no run.


import time


rule forecast:
    output:
        LAYOUT.forecast,
    log:
        LAYOUT.log("forecast", "forecast"),
    localrule: True
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        config=CONFIG,
        overlays=OVERLAYS,
        values=json.dumps(config, sort_keys=True),
        cores=lambda wildcards: workflow.cores,
        now=time.time(),  # each request prints it
    message:
        "forecast"
    shell:
        "RBMBENCH_MESSAGES= rbmbench forecast --config {params.config:q} --configfile {params.overlays:q}"
        " --values {params.values:q} --cores {params.cores:q} --out {output:q} --log {log:q}"
