"""Reports of results: tables, plots and pages, and the HTML document that contains them."""
