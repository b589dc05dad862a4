"""How the benchmark measures, compares and reports; what it asks is in `questions/`."""
