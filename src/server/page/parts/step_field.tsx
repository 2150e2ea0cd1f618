import { useState } from "preact/hooks";

/** A field for a step; empty means none. It is told once it is typed: by Enter, or on leaving the field. */
export function StepField(
  { label, value, onChange }: {
    label: string;
    value: number | null;
    onChange: (step: number | null) => void;
  },
) {
  // A page that is drawn anew meanwhile, as one of a live run is every second, shows it again.
  const [typed, setTyped] = useState<string | null>(null);
  return (
    <label>
      {label}
      <input
        type="number"
        min={0}
        step={1}
        class="step"
        value={typed ?? value ?? ""}
        onInput={({ currentTarget }) => setTyped(currentTarget.value)}
        onBlur={() => setTyped(null)}
        onChange={({ currentTarget: { value: text } }) => {
          setTyped(null);
          onChange(text === "" ? null : Math.max(0, Math.round(Number(text))));
        }}
      />
    </label>
  );
}
