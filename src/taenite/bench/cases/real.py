"""Real work: the formulas of the examples, forward and backward."""
