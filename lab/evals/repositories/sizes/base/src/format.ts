import { bytesOf, SizeError, UNITS } from "./units.ts";

/** A number of bytes as people write it; docs/units.md has the rules. */
export function format(bytes: number): string {
  if (!Number.isSafeInteger(bytes) || bytes < 0) {
    throw new SizeError(`not a number of bytes: ${bytes}`);
  }
  const unit = UNITS.findLast((candidate) => bytes >= bytesOf(candidate)) ?? "B";
  return `${written(bytes / bytesOf(unit))} ${unit}`;
}

function written(value: number): string {
  return value.toFixed(1).replace(/\.0$/, "");
}
