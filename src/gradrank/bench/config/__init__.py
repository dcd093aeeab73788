"""The settings in params.yaml and study.yaml: sections, variants, data sets, studies, and code digests."""
