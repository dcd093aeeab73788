"""Export of trained models to the file formats of other programs, and independent readers of these files."""
