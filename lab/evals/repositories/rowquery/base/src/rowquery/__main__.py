import sys

from rowquery.cli import main

sys.exit(main())
