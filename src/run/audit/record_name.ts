import type { RecordLine } from "../store/audit_log.ts";

/** What sets a record apart from the others of its run. */
export const recordKey = ({ step, phase }: Pick<RecordLine, "step" | "phase">) =>
  `${step} ${phase}`;

/** A record's name in a message. */
export function recordName({ step, phase }: Pick<RecordLine, "step" | "phase">): string {
  switch (phase) {
    case "start":
      return step === 0 ? "the beginning" : `the beginning of the records, after step ${step}`;
    case "evaluation":
      return `the evaluation after step ${step}`;
    case "weights":
      return `the checkpoint of step ${step}`;
    case "models":
      return `the models after step ${step}`;
    default:
      return `step ${step} (${phase})`;
  }
}
