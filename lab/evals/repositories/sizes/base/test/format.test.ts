import assert from "node:assert/strict";
import { test } from "node:test";

import { format, SizeError } from "../src/index.ts";

test("one digit after the point, and no zero", () => {
  assert.equal(format(1_610_612_736), "1.5 GiB");
  assert.equal(format(2048), "2 KiB");
  assert.equal(format(0), "0 B");
  assert.equal(format(1023), "1023 B");
});

test("other numbers are errors", () => {
  for (const bytes of [-1, 0.5, Number.NaN, 2 ** 53]) {
    assert.throws(() => format(bytes), SizeError);
  }
});
