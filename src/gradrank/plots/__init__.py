"""The plots of the library, which need the extra `plots` (matplotlib)."""
