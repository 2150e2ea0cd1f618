import { z } from "zod";
import { exists, writeFileAtomically } from "../../platform/files/atomic_file.ts";
import { UserError } from "../../base/user_error.ts";
import type { Settings } from "../config/changeable.ts";
import { readJsonLines } from "../store/json_lines_log.ts";

const changeSchema = z.object({
  step: z.int(),
  settings: z.record(z.string(), z.union([z.string(), z.number()])),
});

/** The error of a change that comes too late. */
export function noStepLeft(): UserError {
  return new UserError(
    "The run is at its last step: no step is left in which settings could change.",
  );
}

/** Settings that changed while a run went on. */
export interface ConfigChange {
  /** The first step they hold in. */
  readonly step: number;
  readonly settings: Settings;
}

/**
 * A run's configuration and how it changed from step to step. The changes lie in the run's folder, so that a
 * resumed run makes them again at the same steps.
 */
export class ConfigHistory<Config> {
  /** By step, one for each. */
  #changes: readonly ConfigChange[];

  /**
   * Reads the history; no file is an empty one.
   *
   * @param path one line of JSON for each change
   * @param initial the configuration that the run began with
   * @param apply makes a changed configuration; throws a UserError where that is not possible
   * @throws UserError when the file is damaged
   */
  constructor(
    private readonly path: string,
    private readonly initial: Config,
    private readonly apply: (config: Config, settings: Settings) => Config,
  ) {
    this.#changes = exists(path) ? readChanges(path) : [];
  }

  /** The configuration that holds in a step. */
  at(step: number): Config {
    return this.#after(this.#changes.filter((change) => change.step <= step));
  }

  /** Settings that change in a step; empty for most. */
  changedAt(step: number): Settings {
    return this.#changes.find((change) => change.step === step)?.settings ?? {};
  }

  /**
   * Changes settings from a step on, and writes that down. It is the last word on them: what a run that went
   * further before it was resumed had made of the same settings later is forgotten.
   *
   * @throws UserError as `check` does; nothing is changed then
   */
  change(step: number, settings: Settings): void {
    const changes = this.#with(step, settings);
    this.#after(changes);
    writeFileAtomically(this.path, changes.map((one) => `${JSON.stringify(one)}\n`).join(""));
    this.#changes = changes;
  }

  /** Takes over what the first rank has changed from a step on; writing it down is left to that rank. */
  adopt(step: number, settings: Settings): void {
    this.#changes = this.#with(step, settings);
  }

  /**
   * Checks whether settings could change from a step on.
   *
   * @throws UserError when one may not change, does not fit, or would not go with a later change
   */
  check(step: number, settings: Settings): void {
    this.#after(this.#with(step, settings));
  }

  #with(step: number, settings: Settings): readonly ConfigChange[] {
    const without = (others: Settings): Settings =>
      Object.fromEntries(Object.entries(others).filter(([key]) => !(key in settings)));
    return [
      ...this.#changes.filter((change) => change.step < step),
      { step, settings: { ...without(this.changedAt(step)), ...settings } },
      ...this.#changes.filter((change) => change.step > step)
        .map((change) => ({ ...change, settings: without(change.settings) }))
        .filter((change) => Object.keys(change.settings).length > 0),
    ];
  }

  #after(changes: readonly ConfigChange[]): Config {
    return changes.reduce((config, { settings }) => this.apply(config, settings), this.initial);
  }
}

function readChanges(path: string): ConfigChange[] {
  return readJsonLines(path).map((line, index) => {
    const { data } = changeSchema.safeParse(line);
    if (data) return data;
    throw new UserError(
      `${path}:${index + 1} is damaged: "settings" by their keys were expected, found ` +
        `${JSON.stringify(line).slice(0, 60)}. Remove the damaged lines and those after them.`,
    );
  });
}
