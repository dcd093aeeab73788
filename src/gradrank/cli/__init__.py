"""The commands of the library. Each imports the modules that it needs when it runs."""
