import type { EventLine } from "../../../run/events/told_event.ts";

/** What an event says, in words. */
export function eventWords(event: EventLine): string {
  switch (event.type) {
    case "started":
      return event.step === 0
        ? `began; ${event.total} steps to do`
        : `went on after step ${event.step} of ${event.total}`;
    case "phaseBegan":
      return `${event.phase} began`;
    case "phaseEnded":
      return `${event.phase} ended`;
    case "step":
      return `trained the ${event.phase}`;
    case "evaluation":
      return "measured on held-out problems";
    case "checkpoint":
      return `saved ${event.path}`;
    case "changed":
      return `settings: ${
        Object.entries(event.settings).map(([key, value]) => `${key} = ${value}`).join(", ")
      }`;
    case "paused":
      return "paused";
    case "continued":
      return "went on";
    case "warning":
      return `warning: ${event.message}`;
    case "finished":
      return event.reachedEnd ? "finished" : "stopped as asked";
    case "failed":
      return `failed: ${event.message}`;
    case "comparedRun":
      return `run ${event.place} of ${event.total}: ${event.method}, seed ${event.seed}`;
    case "comparisonEnded":
      return "the comparison ended";
  }
}
