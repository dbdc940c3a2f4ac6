"""The command line, the server, and the readers of a person's files."""
