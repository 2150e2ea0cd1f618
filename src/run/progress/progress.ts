import { ProgressLine, type ProgressOutput } from "./progress_line.ts";

/** What is known after a step. */
export interface ProgressUpdate {
  /** Steps done so far, all phases together. */
  readonly step: number;
  readonly phase: "generator" | "verifier";
  /** Mean reward of the step's batch. */
  readonly reward: number;
  readonly tokensPerSecond: number;
}

/** Shows the progress of a Tango run: phase (G or V), step, rewards, speed, time left. */
export class Progress {
  private readonly line: ProgressLine;
  private readonly lastReward: { generator?: number; verifier?: number } = {};

  /**
   * @param total steps of the whole run
   * @param label stands at the beginning of every line
   */
  constructor(total: number, label: string | null = null, output?: ProgressOutput) {
    this.line = new ProgressLine(total, label, output);
  }

  /** Tells that a step has been done. */
  update({ step, phase, reward, tokensPerSecond }: ProgressUpdate): void {
    this.lastReward[phase] = reward;
    const { generator, verifier } = this.lastReward;
    const rewards = [
      ...(generator === undefined ? [] : [`G ${generator.toFixed(2)}`]),
      ...(verifier === undefined ? [] : [`V ${verifier.toFixed(2)}`]),
    ];
    this.line.update({
      step,
      kind: phase === "generator" ? "G" : "V",
      status: `reward ${rewards.join(" ")}`,
      tokensPerSecond,
    });
  }

  /** Writes a line that stays, above the live one. */
  note(text: string): void {
    this.line.note(text);
  }

  /** Ends the live line; call it once, also after a failure. */
  close(): void {
    this.line.close();
  }
}
