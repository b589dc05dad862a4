"""SHOW: results as text, tables and JSON. Returns strings; prints and writes nothing."""
