"""`python -m fasttree` is the command `fasttree`."""

from .cli import main

main()
