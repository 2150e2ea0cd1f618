import type { RunEvent, StepEvent } from "../../run/events/run_event.ts";
import { METRIC } from "../../run/store/metric_names.ts";
import { ProgressLine, type ProgressOutput, standardError } from "./progress_line.ts";

/** How a step looks in the line. */
export type DescribeStep = (event: StepEvent) => { readonly kind: string; readonly status: string };

/** Shows on the terminal what a run tells. Dispose of it in the end, also after a failure. */
export class RunProgress implements Disposable {
  readonly #output: ProgressOutput;
  #line: ProgressLine | null = null;
  #label: string | null = null;
  #describe: DescribeStep;

  /** @param describer makes what describes the steps of one run */
  constructor(
    private readonly describer: () => DescribeStep,
    output: ProgressOutput = standardError(),
  ) {
    this.#describe = describer();
    this.#output = output;
  }

  /** Hears an event of the run, or of several runs after one another. */
  hear(event: RunEvent): void {
    switch (event.type) {
      case "comparedRun":
        this.#end();
        this.#label = `${event.number}/${event.total}`;
        break;
      case "started":
        this.#describe = this.describer();
        this.#line = new ProgressLine(event.total, this.#label, this.#output);
        break;
      case "step":
        this.#line?.update({
          step: event.step,
          ...this.#describe(event),
          tokensPerSecond: event.timings[METRIC.tokensPerSecond],
        });
        break;
      case "changed":
        for (const [key, value] of Object.entries(event.settings)) {
          this.note(`From step ${event.step} on ${key} is ${value}.`);
        }
        break;
      case "paused":
        this.note(`Paused after step ${event.step}.`);
        break;
      case "continued":
        this.note("Going on.");
        break;
      case "warning":
        this.note(event.message);
        break;
    }
  }

  /** Writes a line that stays, above the live one. */
  note(text: string): void {
    if (this.#line) this.#line.note(text);
    else this.#output.writeLine(text);
  }

  /** Ends the live line. */
  #end(): void {
    this.#line?.close();
    this.#line = null;
  }

  [Symbol.dispose](): void {
    this.#end();
  }
}
