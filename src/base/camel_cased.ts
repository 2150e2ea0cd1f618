type CamelKey<Key extends string> = Key extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelKey<Rest>>}`
  : Key;

/** Values under keys in camel case, at every depth: `group_size` becomes `groupSize`. */
export type CamelCased<Value> = Value extends readonly unknown[] ? Value
  : Value extends object ? {
      readonly [Key in keyof Value as Key extends string ? CamelKey<Key> : Key]: CamelCased<
        Value[Key]
      >;
    }
  : Value;

/**
 * A configuration as code takes it: the keys of the YAML file are the names of the method's options, but
 * for their case. Lists are left as they are.
 */
export function camelCased<const Value>(value: Value): CamelCased<Value> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return value as CamelCased<Value>;
  }
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()),
      camelCased(inner),
    ]),
  ) as CamelCased<Value>;
}
