from strata.merging import merged


class TestMerged:
    def test_tables_key_by_key(self):
        layers = [{"server": {"host": "a", "port": 80}}, {"server": {"port": 81}}]
        assert merged(layers) == {"server": {"host": "a", "port": 81}}

    def test_lists_are_replaced(self):
        assert merged([{"x": [1, 2]}, {"x": [3]}]) == {"x": [3]}

    def test_nothing(self):
        assert merged([]) == {}
