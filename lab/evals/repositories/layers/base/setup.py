from setuptools import setup

setup(name="strata", version="0.9", packages=["strata"], package_dir={"": "src"})
