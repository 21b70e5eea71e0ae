import sys

from shipnotes.cli import main

sys.exit(main())
