"""Settings chosen fairly: configurations drawn from a model's space, judged on validation alone, then trained anew."""
