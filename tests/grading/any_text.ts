import fc from "fast-check";

/** Texts of any characters. The library's own makes a table of all of Unicode first, which takes a second. */
export const anyText = fc.array(fc.integer({ min: 0, max: 0x10ffff }), { maxLength: 20 })
  .map((points) => String.fromCodePoint(...points));
