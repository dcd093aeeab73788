"""Published numbers and the comparison of our numbers with them."""
