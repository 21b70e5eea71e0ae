"""Bytes that model-written code produced are never active content on this origin."""

from __future__ import annotations

import pytest
from starlette.requests import Request

from api.http.answers import is_unchanged, untrusted_headers

SHA = "ab" * 32


@pytest.mark.parametrize(
    "media_type",
    ["text/html", "image/svg+xml", "application/xhtml+xml", "application/pdf", "text/javascript"],
)
def test_active_content_is_only_downloaded(media_type):
    headers = untrusted_headers("out/x", media_type, SHA)
    assert headers["Content-Disposition"].startswith("attachment")
    assert "sandbox" in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Content-Type"].startswith(media_type)


@pytest.mark.parametrize("media_type", ["image/png", "image/jpeg", "image/gif", "image/webp"])
def test_pictures_may_be_shown(media_type):
    headers = untrusted_headers("plot.png", media_type, SHA)
    assert headers["Content-Disposition"] == "inline; filename*=UTF-8''plot.png"
    assert headers["ETag"] == f'"{SHA}"'


@pytest.mark.parametrize(
    "media_type", ["", "x", "a/b/c", "text/html\r\nX: y", "image/png, text/html", "é/x", "/png"]
)
def test_an_invalid_type_becomes_octet_stream(media_type):
    headers = untrusted_headers("x", media_type, SHA)
    assert headers["Content-Type"] == "application/octet-stream"
    assert headers["Content-Disposition"].startswith("attachment")


def test_the_parameters_of_a_type_are_removed():
    assert untrusted_headers("x", "text/plain; charset=x", SHA)["Content-Type"] == (
        "text/plain; charset=utf-8"
    )


def test_names_cannot_break_the_header():
    headers = untrusted_headers('a/b"\r\nü.png', "image/png", SHA)
    assert headers["Content-Disposition"] == "inline; filename*=UTF-8''b%22%0D%0A%C3%BC.png"


@pytest.mark.parametrize(
    ("sent", "same"),
    [(f'"{SHA}"', True), (f'W/"{SHA}", "x"', True), ("*", True), ('"x"', False), ("", False)],
)
def test_bytes_that_the_client_has_are_not_sent_again(sent, same):
    headers = [(b"if-none-match", sent.encode())] if sent else []
    assert is_unchanged(Request({"type": "http", "headers": headers}), SHA) is same
