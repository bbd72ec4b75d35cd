"""What people meet: command line, walkthrough, verification report. Imports no GPU library."""
