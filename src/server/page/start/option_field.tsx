import type { FieldProblems } from "../parts/problem_of.tsx";
import { TextField } from "../parts/text_field.tsx";

/** What is no key of the configuration. */
const OPTIONS = {
  run: { label: "Name", hint: "Of the run's folder; empty: the next free number." },
  seeds: { label: "Seeds", hint: "Separated by commas; empty: 0,1,2." },
  ranks: {
    label: "Ranks",
    hint: "Processes that share it, one for each GPU; empty: one.",
    least: 1,
  },
  gpuIndex: {
    label: "GPU",
    hint: "Its number, as ./tango doctor shows; empty: the first with room.",
    least: 0,
  },
} satisfies Record<string, { label: string; hint: string; least?: number }>;

/** What was typed of each. */
export type Options = Readonly<Record<keyof typeof OPTIONS, string>>;

/** A field of what is no key of the configuration. */
export function OptionField(
  { name, value, wrong, onInput }: {
    name: keyof Options;
    value: string;
    wrong: FieldProblems;
    onInput: (value: string) => void;
  },
) {
  const { label, hint, least }: { label: string; hint: string; least?: number } = OPTIONS[name];
  return (
    <TextField
      id={`option-${name}`}
      label={label}
      hint={hint}
      name={name}
      wrong={wrong}
      type={least === undefined ? "text" : "number"}
      min={least}
      value={value}
      onText={onInput}
    />
  );
}
