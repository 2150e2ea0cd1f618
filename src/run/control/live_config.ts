import type { Communicator } from "../../distributed/communicator.ts";
import { broadcastValue } from "../../distributed/values.ts";
import type { Settings } from "../config/changeable.ts";
import type { RunEvents } from "../events/run_events.ts";
import { type ConfigHistory, noStepLeft } from "./config_history.ts";
import type { RunControl } from "./run_control.ts";

/** The configuration as it holds in the present step, and the door by which settings change. */
export class LiveConfig<Config> {
  #current: Config;
  /** The step that was begun last, and the settings that are new in it. */
  #begun: number;
  #changes: Settings = {};

  /**
   * @param ranks settings change on the first and then hold on all
   * @param stepsDone steps of an earlier part of the run
   */
  constructor(
    private readonly ranks: Communicator,
    private readonly history: ConfigHistory<Config>,
    stepsDone: number,
  ) {
    this.#begun = stepsDone;
    this.#current = history.at(stepsDone);
  }

  /** The configuration in the step that was begun last. */
  get current(): Config {
    return this.#current;
  }

  /** Settings that are new in the step that was begun last. */
  get changes(): Settings {
    return this.#changes;
  }

  /** Lets settings change from the next step on, as long as there is one. */
  open(control: RunControl, totalSteps: number): Disposable {
    return control.open((settings) => {
      if (this.#begun >= totalSteps) throw noStepLeft();
      this.history.change(this.#begun + 1, settings);
    });
  }

  /**
   * Begins a step on all ranks: settings that change with it hold from here on, and are told.
   *
   * @returns whether any changed
   */
  async begin(step: number, events: RunEvents): Promise<boolean> {
    this.#begun = step;
    const settings = await broadcastValue(this.ranks, this.history.changedAt(step));
    this.#changes = settings;
    if (Object.keys(settings).length === 0) return false;
    if (this.ranks.rank !== 0) this.history.adopt(step, settings);
    this.#current = this.history.at(step);
    events.emit({ type: "changed", step, settings });
    return true;
  }
}
