/** Keys of the second over those of the first, at every depth; lists are taken whole. */
export function merged(base: unknown, over: unknown): unknown {
  if (!isMapping(base) || !isMapping(over)) return over;
  const keys = new Set([...Object.keys(base), ...Object.keys(over)]);
  return Object.fromEntries(
    [...keys].map((
      key,
    ) => [key, Object.hasOwn(over, key) ? merged(base[key], over[key]) : base[key]]),
  );
}

/** Whether a value is keys with values. */
export function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
