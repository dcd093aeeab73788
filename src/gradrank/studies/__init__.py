"""One folder a study; see gradrank.config.studies."""
