import type { RunKind } from "../../../run/store/run_folder.ts";
import { settingAt } from "./schema_fields.ts";

/**
 * Settings of a preset that mean nothing any more, as they have to be: a fine-tuning on files measures no accuracy;
 * solutions are sampled from a generator alone, and only of problems whose answers are known.
 *
 * @param valueOf a key's value in the form
 */
export function impliedSettings(
  kind: RunKind,
  valueOf: (key: string) => unknown,
): Record<string, unknown> {
  if (kind !== "sft") return {};
  const data = valueOf("data") ?? null;
  const isSampled = valueOf("policy") !== "verifier" && (data === null || hasAnswers(data));
  return {
    ...(isSampled ? {} : { "schedule.measure_start": 0, "schedule.measure_end": 0 }),
    ...(data === null ? {} : { "schedule.stop_at_accuracy": 1 }),
  };
}

/** Whether every file says what holds its answers: a published data set's format does. */
function hasAnswers(data: unknown): boolean {
  return ["train", "held_out"].every((part) => {
    const entries = settingAt(data, part) ?? [];
    return Array.isArray(entries) &&
      entries.every((entry) =>
        [settingAt(entry, "format"), settingAt(entry, "columns.answer")]
          .some((said) => typeof said === "string")
      );
  });
}
