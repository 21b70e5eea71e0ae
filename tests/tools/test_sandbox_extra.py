"""The larger set of packages for the code in sandboxes: `make sandbox-extra`."""

from __future__ import annotations

import sys
from pathlib import Path

from sandbox.local import LocalSandbox
from sandbox.protocol import Command, Limits

PYTHON = Path(sys.prefix) / "sandbox-extra" / "bin" / "python"
WORK = """
import openpyxl, pandas, pyarrow.parquet, pypdf, requests, responses
from sklearn.linear_model import LinearRegression

table = pandas.DataFrame({"x": [1, 2, 3], "y": [2, 4, 6]})
table.to_excel("t.xlsx")
table.to_parquet("t.parquet")
print(pandas.read_excel("t.xlsx").y.sum(), pyarrow.parquet.read_table("t.parquet").num_rows)
model = LinearRegression().fit(table[["x"]], table.y)
print(round(model.predict(pandas.DataFrame({"x": [4]}))[0]))
writer = pypdf.PdfWriter()
writer.add_blank_page(72, 72)
writer.write("t.pdf")
print(len(pypdf.PdfReader("t.pdf").pages))
with responses.RequestsMock() as answers:
    answers.get("https://example.org/", json={"a": 1})
    print(requests.get("https://example.org/").json())
"""


async def test_the_extra_packages_work_and_the_usual_packages_are_preloaded() -> None:
    sandbox = LocalSandbox(PYTHON, pool_size=1)
    limits = Limits(wall_seconds=90.0, cpu_seconds=90)
    try:
        ran = await sandbox.run(Command.python(WORK), limits)
        assert ran.stdout.text == "12 3\n8\n1\n{'a': 1}\n", ran.stderr.text
        assert ran.changed.keys() == {"t.xlsx", "t.parquet", "t.pdf"}
        await sandbox.wait_until_warm()
        loaded = "import sys; print({'pandas', 'pyarrow', 'matplotlib'} <= sys.modules.keys())"
        assert (await sandbox.run(Command.python(loaded), limits)).stdout.text == "True\n"
    finally:
        await sandbox.close()
