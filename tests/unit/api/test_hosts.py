"""The names with which clients may call the service, and the addresses that count as one."""

from __future__ import annotations

import pytest

from api.http.connections import counted_address
from api.http.hosts import are_allowed

ALLOWED = ("fettle.example.org", "*.inner.example.org", "192.0.2.80")


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "app.localhost:8000",
        "127.8.9.1:80",
        "[::1]:8000",
        "10.1.2.3:8000",
        "Fettle.Example.Org.:443",
        "a.inner.example.org",
        "192.0.2.80:8000",
    ],
)
def test_a_name_of_the_service_is_known(host):
    assert are_allowed([host], ALLOWED, "10.1.2.3")


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "evil.example#localhost",
        "inner.example.org",
        "fettle.example.org.evil.example",
        "10.1.2.4",
        "[::1",
        "2130706434",
    ],
)
def test_any_other_name_is_unknown(host):
    assert not are_allowed([host], ALLOWED, "10.1.2.3")
    assert are_allowed([host], ("*",), None)


def test_a_request_with_two_names_needs_both_to_be_known():
    assert are_allowed(["localhost", "localhost"], (), None)
    assert not are_allowed(["localhost", "evil.example"], (), None)
    assert are_allowed([], (), None), "no browser leaves it out"


def test_a_socket_in_a_folder_has_no_address():
    assert are_allowed(["localhost"], (), "/run/fettle.sock")
    assert not are_allowed(["10.1.2.3"], (), "/run/fettle.sock")


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
def test_the_addresses_of_a_customers_network_count_as_one(host, counted):
    assert counted_address(host) == counted
