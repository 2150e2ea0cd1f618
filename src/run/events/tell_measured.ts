import type { EvaluationEvent, StepEvent } from "./run_event.ts";
import type { RunEvents } from "./run_events.ts";

/**
 * Tells what was measured in a step or an evaluation. Numbers that are not finite cannot be logged: they are
 * left out, which is told too, unless the step was skipped for it.
 */
export function tellMeasured(events: RunEvents, event: StepEvent | EvaluationEvent): void {
  const entries = Object.entries(event.metrics);
  const finite = entries.filter(([, value]) => Number.isFinite(value));
  events.emit({ ...event, metrics: Object.fromEntries(finite) });
  const isSkipped = entries.some(([name, value]) => /\/skipped_updates$/.test(name) && value > 0);
  if (finite.length === entries.length || isSkipped) return;
  const names = entries.flatMap(([name, value]) => Number.isFinite(value) ? [] : [name]).join(", ");
  const message = `step ${event.step}: left out of the log because it is not finite: ${names}`;
  events.emit({ type: "warning", step: event.step, message });
}
