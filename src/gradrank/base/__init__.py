"""Modules that every room uses: errors, files, the results layout, stamps, the processor, and compiled code."""
