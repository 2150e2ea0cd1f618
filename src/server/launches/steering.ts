import { isAlive } from "../../platform/process/process_identity.ts";
import { UserError } from "../../base/user_error.ts";
import { changeSftConfig, changeTangoConfig, type Settings } from "../../run/config/changeable.ts";
import { loadSftConfig, loadTangoConfig } from "../../run/config/load_config.ts";
import { ConfigHistory } from "../../run/control/config_history.ts";
import { askRun } from "../../run/control/endpoint/ask_run.ts";
import { liveProcess, type RunProcess } from "../../run/control/endpoint/control_file.ts";
import type { ControlAnswer, ControlRequest } from "../../run/control/endpoint/control_request.ts";
import { RequestProblem } from "../http/problem.ts";
import type { ListedRun, RunList } from "../runs/run_list.ts";
import type { LaunchStore } from "./launch_store.ts";

/** A run that is only starting is asked as soon as it listens. */
const LISTENING_MS = 100;
/** How long an answer is waited for: a run hears between two steps. */
const ANSWER_MS = 2000;

/** What runs that go on are asked. */
export class Steering {
  /** What runs were asked last and have not heard yet: requests arrive in their order. */
  readonly #last = new Map<string, Promise<void>>();

  constructor(private readonly list: RunList, private readonly launches: LaunchStore) {}

  /**
   * Asks a run for something that it cannot refuse; it does it between two steps.
   *
   * @throws RequestProblem when the run is not going on
   */
  ask(name: string, request: ControlRequest): void {
    this.#requireGoing(name);
    this.#inTurn(name, () => this.#deliver(name, request)).catch((error) => console.error(error));
  }

  /**
   * Changes settings from the next step on.
   *
   * @returns whether the run has answered; it does it in any case
   * @throws RequestProblem when the run is not going on or refuses
   */
  async change(run: ListedRun, settings: Settings): Promise<boolean> {
    this.#requireGoing(run.name);
    const live = liveProcess(run.folder);
    if (live === null) {
      throw new RequestProblem(409, "The run is only starting: no settings can change yet.");
    }
    this.#check(run, settings);
    const answer = await this.#inTurn(
      run.name,
      () => asked(live, { request: "change", settings }),
    );
    if (answer?.ok === false) {
      throw new RequestProblem(409, answer.message, Object.keys(settings)[0]);
    }
    return answer !== null;
  }

  /** Asks when what the run was asked before has arrived, whether or not that could be done. */
  #inTurn<Answer>(name: string, ask: () => Promise<Answer>): Promise<Answer> {
    const answer = (this.#last.get(name) ?? Promise.resolve()).then(ask);
    const last = answer.then(() => {}, () => {}).then(() => {
      if (this.#last.get(name) === last) this.#last.delete(name);
    });
    this.#last.set(name, last);
    return answer;
  }

  /** What is wrong with settings is said at once, whatever the run is at. */
  #check({ folder, kind, indexed }: ListedRun, settings: Settings): void {
    const step = indexed.progress.step + 1;
    try {
      if (kind === "sft") {
        const config = loadSftConfig(folder.configuration);
        return new ConfigHistory(folder.history, config, changeSftConfig).check(step, settings);
      }
      const config = loadTangoConfig(folder.configuration);
      new ConfigHistory(folder.history, config, changeTangoConfig).check(step, settings);
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      const keys = Object.keys(settings);
      const field = keys.find((key) => error.message.includes(key)) ?? keys[0];
      throw new RequestProblem(422, error.message, field);
    }
  }

  #requireGoing(name: string): void {
    if (this.#isGoing(name)) return;
    throw new RequestProblem(409, "The run is not going on.");
  }

  #isGoing(name: string): boolean {
    const run = this.list.find(name);
    const launch = this.launches.find(name);
    return (run !== null && liveProcess(run.folder) !== null) ||
      (launch?.process != null && isAlive(launch.process));
  }

  async #deliver(name: string, request: ControlRequest): Promise<void> {
    while (!this.list.isClosed && this.#isGoing(name)) {
      const run = this.list.find(name);
      const live = run && liveProcess(run.folder);
      // What is sent is heard, whether or not the answer is waited for.
      if (live && await isDelivered(live, request)) break;
      await new Promise((resolve) => setTimeout(resolve, LISTENING_MS));
    }
  }
}

async function isDelivered(live: RunProcess, request: ControlRequest): Promise<boolean> {
  const waiting = AbortSignal.timeout(ANSWER_MS);
  const answer = await askRun(live, request, waiting);
  return answer !== null || waiting.aborted;
}

function asked(live: RunProcess, request: ControlRequest): Promise<ControlAnswer | null> {
  return askRun(live, request, AbortSignal.timeout(ANSWER_MS));
}
