"""One folder a study; see gradrank.pipeline.studies."""
