import { bytesOf, SizeError, UNITS, type Unit } from "./units.ts";

const SIZE = /^\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*$/;

/** The bytes of a size such as "1.5 GiB"; docs/units.md has the rules. */
export function parse(text: string): number {
  const match = SIZE.exec(text);
  if (match === null) {
    throw new SizeError(`not a size: ${JSON.stringify(text)}`);
  }
  return Math.round(Number(match[1]) * bytesOf(unitOf(match[2] ?? "")));
}

function unitOf(name: string): Unit {
  const unit = UNITS.find((known) => known === (name || "B"));
  if (unit === undefined) {
    throw new SizeError(`not a unit: ${name}; the units are ${UNITS.join(", ")}`);
  }
  return unit;
}
