"""What makes the pages: blocks that run, outputs that are shown, pictures that are drawn."""
