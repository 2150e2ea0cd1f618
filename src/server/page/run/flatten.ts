/** A configuration as one line for each key: nested keys with dots, lists and null as they are. */
export function flatten(
  section: Readonly<Record<string, unknown>>,
  prefix: string = "",
): [string, unknown][] {
  return Object.entries(section).flatMap(([name, value]) => {
    const key = `${prefix}${name}`;
    if (typeof value !== "object" || value === null || Array.isArray(value)) return [[key, value]];
    return flatten(value as Record<string, unknown>, `${key}.`);
  });
}
