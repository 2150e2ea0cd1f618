import type { RunKind } from "../../../run/store/run_folder.ts";

/**
 * Settings of a preset that mean nothing any more, as they have to be: a fine-tuning on files samples from nothing and
 * measures no accuracy, one of a verifier does not sample either.
 *
 * @param valueOf a key's value in the form
 */
export function impliedSettings(
  kind: RunKind,
  valueOf: (key: string) => unknown,
): Record<string, unknown> {
  if (kind !== "sft") return {};
  const isOnFiles = (valueOf("data") ?? null) !== null;
  return {
    ...(isOnFiles || valueOf("policy") === "verifier"
      ? { "schedule.measure_start": 0, "schedule.measure_end": 0 }
      : {}),
    ...(isOnFiles ? { "schedule.stop_at_accuracy": 1 } : {}),
  };
}
