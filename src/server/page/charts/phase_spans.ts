export interface PhaseSpan {
  readonly phase: string;
  readonly from: number;
  to: number;
}

/**
 * The stretches of steps that trained the same policy. Each reaches half a step to both sides, so that they
 * touch; evaluations belong to the step they follow. Where a point stands for steps of both, there is none.
 *
 * @param phases of each row
 */
export function phaseSpans(steps: readonly number[], phases: readonly string[]): PhaseSpan[] {
  const spans: PhaseSpan[] = [];
  let isBroken = true;
  for (const [row, step] of steps.entries()) {
    const phase = phases[row];
    if (phase === "several") isBroken = true;
    if (phase !== "generator" && phase !== "verifier") continue;
    const last = isBroken ? undefined : spans[spans.length - 1];
    isBroken = false;
    if (last !== undefined && last.phase === phase) last.to = step + 0.5;
    else {
      if (last !== undefined) last.to = (last.to - 0.5 + step) / 2;
      spans.push({ phase, from: last?.to ?? step - 0.5, to: step + 0.5 });
    }
  }
  return spans;
}
