"""What counts as one address and how many connections it has; how long each may stay."""

from __future__ import annotations

import pytest

from api.http.connections import counted_as


@pytest.mark.parametrize(
    ("host", "counted"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("a-name", "a-name"),
    ],
)
def test_a_network_of_a_customer_is_one_address(host, counted):
    assert counted_as(host) == counted
