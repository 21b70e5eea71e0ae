export { format } from "./format.ts";
export { parse } from "./parse.ts";
export { total } from "./total.ts";
export { SizeError, type Unit } from "./units.ts";
