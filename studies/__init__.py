"""Studies: one folder per publication or question that is recreated (see gradrank.bench.config.studies)."""
