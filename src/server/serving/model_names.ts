import { join } from "node:path";
import { exists } from "../../platform/files/atomic_file.ts";
import type { PolicyName } from "../../rl/policy.ts";
import { loadTangoConfig } from "../../run/config/load_config.ts";
import { liveProcess } from "../../run/control/endpoint/control_file.ts";
import {
  type CheckpointPlace,
  latestCheckpoint,
  listCheckpoints,
} from "../../run/store/checkpoint.ts";
import { isComplete } from "../../run/store/stored_checkpoint.ts";
import { policyOf } from "../../run/tango/load_policy.ts";
import { RequestProblem } from "../http/problem.ts";
import { findModels } from "../models/found_models.ts";
import type { Steering } from "../launches/steering.ts";
import type { ListedRun, RunList } from "../runs/run_list.ts";
import type { Served, ServedModels } from "./served_models.ts";

/** `RUN/generator@STEP`; without a step the newest. */
const POLICY = /^(.+)\/(generator|verifier)(?:@(\d{1,12}))?$/;
/** A run that goes on saves between two steps; so long is waited for it, in milliseconds. */
const LONGEST_STEP_MS = 10 * 60_000;
const LOOK_MS = 100;

/** What clients can name: served models, adapters on them, and policies of runs. */
export class ModelNames {
  constructor(
    readonly served: ServedModels,
    private readonly list: RunList,
    private readonly steering: Steering,
    /** That models may lie in. */
    private readonly folders: readonly string[],
  ) {}

  /**
   * The model that a request names. A policy of a run, or a model on the disk by its path, is opened when it is not.
   *
   * @throws RequestProblem when there is none of that name
   * @throws UserError when it cannot be opened
   */
  async find(name: string | null | undefined): Promise<Served> {
    const [, run, policy, step] = POLICY.exec(name ?? "") ?? [];
    if (name == null || this.served.has(name)) return this.served.find(name);
    const listed = run === undefined ? null : this.list.find(run);
    if (listed === null) return await this.#onDisk(name);
    const left = listed.folder.weights(policy as PolicyName);
    if (listed.kind === "sft" && step === undefined && exists(left)) {
      return await this.#onDisk(left);
    }
    if (listed.kind === "sft") {
      const there = exists(left) ? `ask for ${run}/${policy}` : "it can be asked when it has ended";
      throw new RequestProblem(
        404,
        `${run} is a fine-tuning, whose checkpoints cannot be asked: ${there}.`,
        "model",
      );
    }
    if (listed.kind !== "train") {
      throw new RequestProblem(404, `${run} is no run of RL Tango: it has no ${policy}.`, "model");
    }
    const place = step === undefined
      ? await this.#newest(listed)
      : checkpointOf(listed, Number(step));
    const config = loadTangoConfig(listed.folder.configuration);
    const full = `${run}/${policy}@${place.step}`;
    return await this.served.openPolicy(
      full,
      policyOf(config, policy as PolicyName).model,
      { folder: listed.folder.path, policy: policy as PolicyName, checkpoint: place.path },
      { precision: config.precision, cacheDtype: config.cache_dtype },
    );
  }

  async #onDisk(path: string): Promise<Served> {
    const isThere = this.served.isOpen(path) ||
      findModels(this.folders).models.some((model) => model.path === path);
    return isThere ? await this.served.openPolicy(path, path, null) : this.served.find(path);
  }

  /** The newest checkpoint; a run that goes on and is further is asked for one of the step that it is at. */
  async #newest(run: ListedRun): Promise<CheckpointPlace> {
    const { folder, name, indexed } = run;
    const there = latestCheckpoint(folder.checkpoints);
    const { step } = indexed.progress;
    if (liveProcess(folder) === null || (there !== null && there.step >= step)) {
      return there ?? missing(run, "none yet");
    }
    this.steering.ask(name, { request: "checkpoint" });
    const end = performance.now() + LONGEST_STEP_MS;
    while (performance.now() < end && liveProcess(folder) !== null) {
      const saved = latestCheckpoint(folder.checkpoints);
      if (saved !== null && saved.step >= step) return saved;
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
    return latestCheckpoint(folder.checkpoints) ?? missing(run, "none yet");
  }
}

function checkpointOf(run: ListedRun, step: number): CheckpointPlace {
  const places = listCheckpoints(run.folder.checkpoints).filter(({ path }) => isComplete(path));
  return places.find((place) => place.step === step) ??
    missing(run, places.map((place) => place.step).join(", ") || "none yet");
}

function missing({ name, folder }: ListedRun, steps: string): never {
  const where = join(name, folder.checkpoints.slice(folder.path.length));
  throw new RequestProblem(404, `${where} has no such checkpoint. There are: ${steps}.`, "model");
}
