"""Published numbers and publications, and the verdict on a published number."""
