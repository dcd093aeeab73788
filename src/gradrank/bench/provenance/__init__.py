"""Provenance: records of how results were computed, their comparison with a checkout, and the repair of damage."""
