"""Fair selection of parameters by independent random searches, which are called tuners.

A tuner trains random configurations of a model and selects one of them on validation data only. The selected
configuration is then retrained.
"""
