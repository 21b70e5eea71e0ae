"""Files that go in or come out do what files should not."""
