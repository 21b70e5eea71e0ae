"""`python -m cli`: the `fettle` command, if it is not on the PATH."""

from cli.main import main

if __name__ == "__main__":
    main()
