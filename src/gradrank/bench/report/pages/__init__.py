"""The pages of the report, and their templates, styles and scripts."""
