"""Tables: their rows, and how they are written."""
