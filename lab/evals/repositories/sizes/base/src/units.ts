export type Unit = "B" | "KiB" | "MiB" | "GiB" | "TiB";

/** The units, the smallest first. */
export const UNITS: readonly Unit[] = ["B", "KiB", "MiB", "GiB", "TiB"];

/** The bytes of one unit. */
export function bytesOf(unit: Unit): number {
  return 1024 ** UNITS.indexOf(unit);
}

/** A text or a number that is no size. */
export class SizeError extends Error {
  override name = "SizeError";
}
