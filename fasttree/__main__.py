"""Run the command line by `python -m fasttree`."""

from fasttree._cli.main import main

main()
