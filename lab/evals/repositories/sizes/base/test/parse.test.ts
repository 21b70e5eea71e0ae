import assert from "node:assert/strict";
import { test } from "node:test";

import { parse, SizeError } from "../src/index.ts";

test("sizes with a unit", () => {
  assert.equal(parse("1.5 GiB"), 1_610_612_736);
  assert.equal(parse(" 12KiB "), 12_288);
  assert.equal(parse("0.1 KiB"), 102);
});

test("a number alone is in bytes", () => {
  assert.equal(parse("77"), 77);
});

test("other texts are errors", () => {
  for (const text of ["", "KiB", "-1 KiB", "1 KB", "1,5 MiB", "1 MiB 2"]) {
    assert.throws(() => parse(text), SizeError, text);
  }
});
