"""One file a study; see gradrank.study."""
