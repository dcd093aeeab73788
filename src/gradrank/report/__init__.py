"""Numbers to pages: tables, plots, pages, and the one HTML document of them."""
