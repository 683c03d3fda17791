"""What a program or a build depends on: what it asks the kernel about files, and whether the answers are the same."""
