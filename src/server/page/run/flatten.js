/**
 * A configuration as one line for each key: nested keys with dots, lists and null as they are.
 *
 * @param {Readonly<Record<string, unknown>>} section
 * @param {string} [prefix]
 * @returns {[string, unknown][]}
 */
export function flatten(section, prefix = "") {
  return Object.entries(section).flatMap(([name, value]) => {
    const key = `${prefix}${name}`;
    if (typeof value !== "object" || value === null || Array.isArray(value)) return [[key, value]];
    return flatten(/** @type {Record<string, unknown>} */ (value), `${key}.`);
  });
}
