"""The settings in params.yaml: sections, variants, data sets, studies, and code digests."""
