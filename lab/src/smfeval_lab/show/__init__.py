"""SHOW: what the lab prints, writes and draws; returned, never written here."""
