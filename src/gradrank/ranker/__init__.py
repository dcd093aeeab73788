"""The scikit-learn estimator of gradrank."""
