"""Tables: their rows, and how they are written as CSV, Markdown and LaTeX."""
