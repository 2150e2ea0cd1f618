/** One of some values, each with what it is called. */
export function Choice<Value extends string>(
  { label, value, options, onChange, class: look }: {
    label: string;
    value: Value;
    options: readonly (readonly [Value, string])[];
    onChange: (value: Value) => void;
    class?: string;
  },
) {
  return (
    <label class={look}>
      {label}
      <select
        value={value}
        onChange={({ currentTarget }) => onChange(currentTarget.value as Value)}
      >
        {options.map(([one, words]) => (
          <option key={one} value={one} selected={one === value}>{words}</option>
        ))}
      </select>
    </label>
  );
}

/** Options from words by value. */
export function optionsOf<Value extends string>(words: Readonly<Record<Value, string>>) {
  return Object.entries(words) as [Value, string][];
}

/** No choice, and names that say enough. */
export function noneOr(names: readonly string[]): [string, string][] {
  return [["", "–"], ...names.map((name): [string, string] => [name, name])];
}
