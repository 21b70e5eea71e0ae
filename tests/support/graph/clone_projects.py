"""Projects in the shapes of public projects: the build backend, the layout, and pytest's
configuration.

Each shape names the modules that its editable install makes importable, as measured with pip and
the backends of November 2026 (setuptools 83, hatchling 1.33, flit-core, poetry-core, pdm-backend,
uv-build).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

USES = "from shop.cart import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n"
FAILS = "import shop.cart\n\n\ndef test_total():\n    assert shop.cart.total([1]) == 2\n"
CACHE = (
    "def test_cache(cache, request):\n    cache.set('shop/n', 1)\n"
    "    assert request.config.cache.get('shop/n', 0) == 1\n"
)
PYTEST = ("pytest",)
MODULE = ("python", "-m", "pytest")


@dataclass(frozen=True)
class Shape:
    """The `files` of the project, the `words` of its verification, and the modules that its
    editable install makes importable. `says`: a part of the reason, if the verification fails.
    """

    files: Mapping[str, str]
    words: tuple[str, ...] = PYTEST
    directories: tuple[str, ...] = ()
    modules: Mapping[str, str] = field(default_factory=dict)
    says: str | None = None


def shop(folder: str = "", name: str = "shop") -> dict[str, str]:
    """A package with one module."""
    package_folder = f"{folder}/{name}" if folder else name
    return {
        f"{package_folder}/__init__.py": "",
        f"{package_folder}/cart.py": "def total(all):\n    return sum(all)\n",
    }


def project(backend: str, requires: str, more: str = "", pytest: str = "") -> dict[str, str]:
    """A pyproject.toml. `pytest` are lines of its configuration."""
    system = f'[build-system]\nrequires = ["{requires}"]\nbuild-backend = "{backend}"\n'
    project_table = '[project]\nname = "shop"\nversion = "1.0"\ndescription = "A shop"\n'
    ini = f"[tool.pytest.ini_options]\n{pytest}\n" if pytest else ""
    return {"pyproject.toml": f"{system}{project_table}{more}\n{ini}"}


def setuptools(more: str = "", pytest: str = "") -> dict[str, str]:
    return project("setuptools.build_meta", "setuptools", more, pytest)


def hatch(more: str = "", pytest: str = "") -> dict[str, str]:
    return project("hatchling.build", "hatchling", more, pytest)


def setup_py(arguments: str) -> dict[str, str]:
    return {
        "setup.py": "from setuptools import find_packages, setup\n"
        f"setup(name='shop', version='1.0', {arguments})\n"
    }


TESTS = {"tests/test_cart.py": USES}
IN_SRC = {**shop("src"), **TESTS}
FLAT = {**shop(), **TESTS}
MAPPED = {"shop": "shop"}

LAYOUTS: dict[str, Shape] = {
    "setuptools, src": Shape({**setuptools(), **IN_SRC}, directories=("src",)),
    "setuptools, flat": Shape({**setuptools(), **FLAT}, modules=MAPPED),
    "setuptools, flat and ambiguous": Shape(
        {**setuptools(), **FLAT, "assets/logo.txt": ""}, says="1 error"
    ),
    "setuptools, found in src": Shape(
        {**setuptools('[tool.setuptools.packages.find]\nwhere = ["src"]'), **IN_SRC},
        directories=("src",),
    ),
    "setuptools, listed": Shape(
        {**setuptools('[tool.setuptools]\npackages = ["shop"]'), **FLAT, "helpers.py": ""},
        modules=MAPPED,
    ),
    "setuptools, a package in a place of another name": Shape(
        {
            **setuptools('[tool.setuptools]\npackages = ["shop"]\npackage-dir = {shop = "code"}'),
            **{f"code/{name.partition('/')[2]}": text for name, text in shop().items()},
            **TESTS,
        },
        modules={"shop": "code"},
    ),
    "setuptools, a module": Shape(
        {
            **setuptools('[tool.setuptools]\npy-modules = ["shop"]'),
            "shop.py": "N = 1\n",
            "tests/test_shop.py": "import shop\ndef test(): assert shop.N\n",
        },
        modules=MAPPED,
    ),
    "setuptools, something that is not declared": Shape(
        {
            **setuptools('[tool.setuptools]\npackages = ["shop"]'),
            **FLAT,
            "helpers.py": "",
            "tests/test_help.py": "import helpers\ndef test(): pass\n",
        },
        modules=MAPPED,
        says="1 error",
    ),
    "setuptools, a namespace": Shape(
        {
            **setuptools('[tool.setuptools.packages.find]\ninclude = ["company*"]'),
            **shop("company"),
            "tests/test_cart.py": USES.replace("shop.cart", "company.shop.cart"),
        },
        modules={"company": "company"},
    ),
    "setuptools, packages inside of a namespace": Shape(
        {
            **setuptools('[tool.setuptools.packages.find]\ninclude = ["company.*"]'),
            **shop("company"),
            "tests/test_cart.py": USES.replace("shop.cart", "company.shop.cart"),
        },
        modules={"company": "company"},
    ),
    "setup.cfg beside settings of tools": Shape(
        {
            "pyproject.toml": "[tool.black]\nline-length = 90\n",
            "setup.cfg": "[metadata]\nname = shop\n[options]\npackages = find:\n",
            **FLAT,
        },
        modules=MAPPED,
    ),
    "setup.py, lib": Shape(
        {
            **setup_py("package_dir={'': 'lib'}, packages=find_packages('lib')"),
            **shop("lib"),
            **TESTS,
        },
        directories=("lib",),
    ),
    "setup.py, flat": Shape(
        {**setup_py("packages=find_packages(exclude=['tests'])"), **FLAT, "tests/__init__.py": ""},
        modules=MAPPED,
    ),
    "setup.py, names": Shape(
        {
            "setup.py": "import setuptools\nPACKAGES = ['shop']\nif __name__ == '__main__':\n"
            "    setuptools.setup(name='shop', version='1', packages=PACKAGES)\n",
            **FLAT,
        },
        modules=MAPPED,
    ),
    "setup.cfg": Shape(
        {
            "setup.py": "from setuptools import setup\nsetup()\n",
            "setup.cfg": "[metadata]\n"
            "name = shop\n[options]\npackage_dir =\n    = src\npackages = find:\n"
            "[options.packages.find]\nwhere = src\n",
            **IN_SRC,
        },
        directories=("src",),
    ),
    "hatch, src": Shape({**hatch(), **IN_SRC}, directories=("src",)),
    "hatch, flat": Shape({**hatch(), **FLAT}, directories=("",)),
    "hatch, packages": Shape(
        {
            **hatch('[tool.hatch.build.targets.wheel]\npackages = ["python/shop"]'),
            **shop("python"),
            **TESTS,
        },
        directories=("python",),
    ),
    "hatch, development directories": Shape(
        {
            **hatch(
                '[tool.hatch.build]\ndev-mode-dirs = ["lib"]\n'
                '[tool.hatch.build.targets.wheel]\npackages = ["lib/shop"]'
            ),
            **shop("lib"),
            **TESTS,
        },
        directories=("lib",),
    ),
    "flit, flat": Shape({**project("flit_core.buildapi", "flit_core"), **FLAT}, directories=("",)),
    "flit, src": Shape(
        {**project("flit_core.buildapi", "flit_core"), **IN_SRC}, directories=("src",)
    ),
    "poetry, src": Shape(
        {**project("poetry.core.masonry.api", "poetry-core"), **IN_SRC}, directories=("src",)
    ),
    "poetry, packages": Shape(
        {
            **project(
                "poetry.core.masonry.api",
                "poetry-core",
                '[tool.poetry]\npackages = [{include = "shop", from = "lib"}]',
            ),
            **shop("lib"),
            **TESTS,
        },
        directories=("lib",),
    ),
    "pdm, src": Shape({**project("pdm.backend", "pdm-backend"), **IN_SRC}, directories=("src",)),
    "pdm, flat": Shape({**project("pdm.backend", "pdm-backend"), **FLAT}, directories=("",)),
    "uv, src": Shape({**project("uv_build", "uv_build"), **IN_SRC}, directories=("src",)),
    "uv, flat": Shape(
        {**project("uv_build", "uv_build", '[tool.uv.build-backend]\nmodule-root = ""'), **FLAT},
        directories=("",),
    ),
    "no metadata, and tests in a folder": Shape(FLAT, says="1 error"),
    "no metadata, by python -m": Shape(FLAT, MODULE),
    "no metadata, src": Shape(IN_SRC, MODULE, says="1 error"),
    "no metadata, tests beside the module": Shape({**shop(), "test_cart.py": USES}),
    "metadata of tools alone": Shape(
        {"pyproject.toml": "[tool.black]\nline-length = 90\n", **FLAT}, says="1 error"
    ),
}

SHADOWS = "def test_own():\n    import {0}\n    assert {0}.OWN\n"
OWN_LIBRARIES = {f"{name}/__init__.py": "OWN = True\n" for name in ("dateutil", "six")}
OWN_TESTS = {f"tests/test_{name}.py": SHADOWS.format(name) for name in ("dateutil", "six")}
STARTED = """import builtins, os

HIDDEN = os.path.lexists(os.path.dirname(os.__file__) + "/sitecustomize.py")


def test_started():
    assert hasattr(builtins, "started") is ({})
"""
"""Debian's Python has its own `sitecustomize`, which hides the `sitecustomize` of a project."""
START = "import builtins\nbuiltins.started = True\n"

SETTINGS: dict[str, Shape] = {
    "libraries of its own in src": Shape(
        {**setuptools(), **{f"src/{path}": text for path, text in OWN_LIBRARIES.items()},
         **OWN_TESTS},
        directories=("src",),
    ),
    "libraries of its own, mapped": Shape(
        {**setuptools('[tool.setuptools]\npackages = ["dateutil", "six"]'), **OWN_LIBRARIES,
         **OWN_TESTS},
        modules={"dateutil": "dateutil", "six": "six"},
    ),
    "libraries of its own that conftest puts on the path": Shape(
        {"conftest.py": "import sys\nsys.path.insert(0, 'vendor')\n",
         **{f"vendor/{path}": text for path, text in OWN_LIBRARIES.items()}, "test_six.py":
         OWN_TESTS["tests/test_six.py"], "test_dates.py": OWN_TESTS["tests/test_dateutil.py"]},
    ),
    "no module hides the standard library": Shape(
        {**setuptools(), **IN_SRC, "src/statistics.py": "1 / 0\n",
         "tests/test_std.py": "import statistics\ndef test(): assert statistics.mean([1]) == 1\n"},
        directories=("src",),
    ),
    "pythonpath": Shape(
        {"pytest.ini": "[pytest]\npythonpath = lib\n", **shop("lib"), **TESTS},
    ),
    "import mode": Shape(
        {**setuptools(pytest='addopts = "--import-mode=importlib --doctest-modules"'),
         **IN_SRC, "src/shop/told.py": '"""\n>>> 1 + 1\n2\n"""\n'},
        directories=("src",),
    ),
    "sitecustomize at the top, on the path": Shape(
        {**hatch(), **FLAT, "sitecustomize.py": START,
         "tests/test_start.py": STARTED.format("not HIDDEN")},
        directories=("",),
    ),
    "sitecustomize at the top, not on the path": Shape(
        {**setuptools(), **IN_SRC, "sitecustomize.py": START,
         "tests/test_start.py": STARTED.format("False")},
        directories=("src",),
    ),
    "sitecustomize in src": Shape(
        {**setuptools(), **IN_SRC, "src/sitecustomize.py": START,
         "tests/test_start.py": STARTED.format("not HIDDEN")},
        directories=("src",),
    ),
    "usercustomize": Shape(
        {**hatch(), **FLAT, "usercustomize.py": START,
         "tests/test_start.py": STARTED.format("False")},
        directories=("",),
    ),
    "cache": Shape(
        {**setuptools(pytest='addopts = "--ff --lf"\ncache_dir = ".saved/pytest"'), **IN_SRC,
         "tests/test_cache.py": CACHE},
        directories=("src",),
    ),
    "first failed, on the command line": Shape(
        {**setuptools(), **IN_SRC}, ("pytest", "--ff", "--nf"), directories=("src",)
    ),
    "output": Shape(
        {**setuptools(pytest='addopts = "-vv -ra --tb=line --durations=2 --color=yes '
                             '--junitxml=out.xml --strict-markers --strict-config"\n'
                             'xfail_strict = true\nfilterwarnings = ["error"]'),
         **IN_SRC},
        directories=("src",),
    ),
    "a plug-in of its own": Shape(
        {**setuptools(pytest='addopts = "-p shop.plugin"'), **IN_SRC,
         "src/shop/plugin.py": "import pytest\n@pytest.fixture\ndef coin(): return 1\n",
         "tests/test_coin.py": "def test_coin(coin): assert coin == 1\n"},
        directories=("src",),
    ),
    "plug-ins that look at the session": Shape(
        {"conftest.py": "def pytest_sessionstart(session):\n"
         "    assert session.config.pluginmanager.has_plugin('cacheprovider')\n"
         "    assert session.config.pluginmanager.get_plugin('terminalreporter')\n"
         "    assert session.config.option.verbose == 0\n", "test_a.py": "def test(): pass\n"},
    ),
    "the environment": Shape(
        {"data.txt": "", "test_env.py": "import os, subprocess, sys\n\n\ndef test_path():\n"
         "    assert 'PYTHONPATH' not in os.environ\n"
         "    assert sorted(os.listdir()) == ['data.txt', 'test_env.py']\n"
         "    assert os.path.basename(sys.argv[0]) == 'pytest'\n"
         "    assert '' not in sys.path and os.path.dirname(sys.executable) in sys.path\n"},
    ),
    "a process with an environment of its own": Shape(
        {**setuptools(), **IN_SRC, "tests/test_child.py": "import subprocess, sys\n\n\n"
         "def test_child():\n    words = [sys.executable, '-c', 'import shop.cart']\n"
         "    assert subprocess.run(words, env={}, cwd='/').returncode == 0\n"},
        directories=("src",),
    ),
    "unittest": Shape(
        {**shop(), "tests/__init__.py": "", "tests/test_unit.py": "import unittest, shop.cart\n\n\n"
         "class CartTest(unittest.TestCase):\n    def test(self):\n"
         "        self.assertEqual(shop.cart.total([1]), 1)\n"},
        ("python", "-m", "unittest"),
    ),
    "a failure": Shape(
        {**setuptools(), **IN_SRC, "tests/test_bad.py": FAILS},
        directories=("src",),
        says="1 failed, 1 passed",
    ),
    "an option that does not exist": Shape(
        {**setuptools(pytest='addopts = "--no-such-option"'), **IN_SRC},
        directories=("src",),
        says="unrecognized arguments: --no-such-option",
    ),
    "a plug-in that does not exist": Shape(
        {**setuptools(pytest='addopts = "-p no_such_plugin"'), **IN_SRC},
        directories=("src",),
        says='Error importing plugin "no_such_plugin": No module named',
    ),
    "a file that does not exist": Shape(
        {**setuptools(), **IN_SRC},
        ("pytest", "tests/test_none.py"),
        directories=("src",),
        says="file or directory not found: tests/test_none.py",
    ),
    "a conftest that cannot be loaded": Shape(
        {"conftest.py": "import no_such_module\n", "test_a.py": "def test(): pass\n"},
        says="ModuleNotFoundError: No module named 'no_such_module'",
    ),
    "an error inside of pytest": Shape(
        {"conftest.py": "def pytest_runtest_setup(item): pass\n"
         "def pytest_runtestloop(session): raise KeyError('inside')\n",
         "test_a.py": "def test(): pass\n"},
        says="KeyError: 'inside'",
    ),
    "an exit from pytest": Shape(
        {"conftest.py": "import pytest\ndef pytest_sessionstart(): pytest.exit('no stock', 3)\n",
         "test_a.py": "def test(): pass\n"},
        says="no stock",
    ),
    "no test": Shape({"test_a.py": "x = 1\n"}, says="no tests were found"),
}  # fmt: skip
SHAPES = {**LAYOUTS, **SETTINGS}
