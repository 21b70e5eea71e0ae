import { format } from "./format.ts";
import { parse } from "./parse.ts";

/** The sum of sizes, as text: total(["1 KiB", "512"]) is "1.5 KiB". */
export function total(sizes: readonly string[]): string {
  return format(sizes.map(parse).reduce((sum, bytes) => sum + bytes, 0));
}
