"""One file a study; see gradrank.studies.kit.study."""
