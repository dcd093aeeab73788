"""The benchmark: settings, plan, jobs, tuning, records, tracking, report, comparison of results, and its commands."""
