"""What results were made of: the records in git, their check against a checkout, and the repair of damaged folders."""
