"""Provenance: the records in git, their comparison with a checkout, and the repair of damaged folders."""
