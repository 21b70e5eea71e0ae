import assert from "node:assert/strict";
import { test } from "node:test";

import { total } from "../src/index.ts";

test("sizes of different units are added", () => {
  assert.equal(total(["1 KiB", "512"]), "1.5 KiB");
  assert.equal(total([]), "0 B");
});
