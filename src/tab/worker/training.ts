/** A run in a tab: the session of `./tango train`, its folder in memory. */

import { settlePrecision } from "../../run/tuning/settled_precision.ts";
import { UserError } from "../../base/user_error.ts";
import { exists, removeIfPresent } from "../../platform/files/atomic_file.ts";
import { Gpu } from "../../gpu/gpu.ts";
import { loadTangoConfig } from "../../run/config/load_config.ts";
import type { TangoConfig } from "../../run/config/config_schema.ts";
import { RunControl } from "../../run/control/run_control.ts";
import type { RunEvent } from "../../run/events/run_event.ts";
import { RunEvents } from "../../run/events/run_events.ts";
import { findHeadlines } from "../../run/report/report.ts";
import { trainWithReport } from "../../run/session/training_session.ts";
import { readJsonLines } from "../../run/store/json_lines_log.ts";
import { METRIC } from "../../run/store/metric_names.ts";
import type { MetricsLine } from "../../run/store/metrics_log.ts";
import { latestCheckpoint } from "../../run/store/checkpoint.ts";
import { RunFolder } from "../../run/store/run_folder.ts";
import { archiveOf, unpack } from "../files/archive.ts";
import { files } from "../instead/platform/system/files.ts";
import { findKept, keep, readKept, STANDING, type Standing } from "./kept_run.ts";
import type { Told } from "./messages.ts";

/** The run's folder, in memory and in the archive. */
export const FOLDER = "tango-run";

/** Trains, and keeps what it has come to with each checkpoint. */
export class Training {
  /** Of the run that goes on. */
  control = new RunControl();
  /** What the run in memory was begun with; null before there is one. */
  #preset: string | null = null;
  #keeping: Promise<void> = Promise.resolve();
  /** What was measured on held-out problems. */
  #lines: MetricsLine[] = [];

  /** @param tell told what happens */
  constructor(private readonly tell: (told: Told) => void) {}

  /**
   * Trains anew.
   *
   * @param preset a folder of the page's site with the preset's configuration and models
   * @throws UserError when there is no GPU, or a setting does not fit
   */
  start(preset: string, settings: readonly string[]): Promise<void> {
    return alone(() => this.#start(preset, settings));
  }

  async #start(preset: string, settings: readonly string[]): Promise<void> {
    await this.#fetchPreset(preset);
    const config = loadTangoConfig(`configs/${preset}.yaml`, { set: settings });
    // What is kept stays until this run has a checkpoint.
    removeIfPresent(FOLDER);
    await this.#train(preset, config, false);
  }

  /**
   * Goes on with the run that is kept.
   *
   * @throws UserError when there is none
   */
  resume(): Promise<void> {
    return alone(() => this.#resume());
  }

  async #resume(): Promise<void> {
    const kept = await findKept();
    // Where the browser keeps nothing, this worker's memory has it as long as the page is open.
    const held = this.#preset === null ? null : this.#standing(this.#preset, 0);
    if (held !== null && held.step > (kept?.step ?? -1)) return await this.#goOn(held.preset);
    if (kept === null) throw new UserError("No run is kept in this browser.");
    // The prompts, and the models whose tokenizers the run has.
    await this.#fetchPreset(kept.preset);
    removeIfPresent(FOLDER);
    unpack(files, "", await readKept());
    await this.#goOn(kept.preset);
  }

  async #goOn(preset: string): Promise<void> {
    const config = loadTangoConfig(RunFolder.at(FOLDER).configuration);
    await this.#train(preset, config, true);
  }

  /** The run's folder as a tar file: with it `./tango eval --run`, `audit` and all others go on. */
  archive(): Uint8Array<ArrayBuffer> {
    return archiveOf(files, FOLDER);
  }

  async #fetchPreset(preset: string): Promise<void> {
    this.tell({ type: "doing", text: "Fetching the models …" });
    const path = `presets/${preset}.tar`;
    const answer = await fetch(path).catch(({ message }) => {
      throw new UserError(`${path} cannot be had: ${message}. Is its server still there?`);
    });
    if (!answer.ok) throw new UserError(`${path} cannot be had: ${answer.status}.`);
    unpack(files, "", new Uint8Array(await answer.arrayBuffer()));
  }

  async #train(preset: string, asked: TangoConfig, resume: boolean): Promise<void> {
    this.control = new RunControl();
    this.#preset = preset;
    this.tell({ type: "doing", text: "Opening the GPU …" });
    const tell = (text: string) => this.tell({ type: "doing", text });
    const { precision } = await settlePrecision({ ...asked, gpu: "dawn" }, undefined, tell);
    const config = { ...asked, precision };
    const { cache_dtype: cacheDtype } = config;
    const gpu = await Gpu.open("dawn", { cacheDtype, precision });
    try {
      this.tell({ type: "device", device: gpu.info });
      this.tell({ type: "doing", text: "Loading the models and compiling kernels …" });
      const events = new RunEvents();
      using _heard = events.listen((event) => this.#hear(event, preset, config));
      const reachedEnd = await trainWithReport(gpu, config, FOLDER, {
        resume,
        events,
        control: this.control,
        tell: (text) => this.tell({ type: "doing", text }),
      });
      // With its report.
      this.#keep(this.#standing(preset, config.schedule.total_training_steps));
      await this.#keeping;
      this.tell({ type: "ended", reachedEnd });
    } finally {
      gpu.close();
      // A run that fails is saved as well.
      await this.#keeping;
    }
  }

  #standing(preset: string, total: number): Standing {
    const { checkpoints } = RunFolder.at(FOLDER);
    const checkpoint = exists(checkpoints) ? latestCheckpoint(checkpoints) : null;
    return { preset, step: checkpoint?.step ?? 0, total };
  }

  #hear(event: RunEvent, preset: string, config: TangoConfig): void {
    switch (event.type) {
      case "started": {
        const { step, total } = event;
        const lines = readJsonLines<MetricsLine>(RunFolder.at(FOLDER).metrics);
        this.#lines = lines.filter(({ phase }) => phase === "evaluation");
        this.tell({ type: "started", step, total, lines });
        return this.#tellHeadlines();
      }
      case "step": {
        const { step, phase, metrics, timings } = event;
        const seconds = timings[METRIC.stepSeconds] ?? null;
        return this.tell({ type: "measured", line: { step, phase, ...metrics }, seconds });
      }
      case "evaluation": {
        const { step, metrics } = event;
        const line: MetricsLine = { step, phase: "evaluation", ...metrics };
        this.#lines.push(line);
        this.tell({ type: "measured", line, seconds: null });
        return this.#tellHeadlines();
      }
      case "samples":
        return this.tell({ type: "samples", samples: event.samples.slice(0, SAMPLES) });
      case "checkpoint":
        this.#dropOlder(event.path);
        return this.#keep(this.#standing(preset, config.schedule.total_training_steps));
      case "paused":
      case "continued":
        return this.tell({ type: event.type });
      case "warning":
        return this.tell({ type: "warning", message: event.message });
    }
  }

  #tellHeadlines(): void {
    this.tell({ type: "headlines", headlines: findHeadlines(this.#lines) });
  }

  /** A tab goes on from the newest checkpoint, and its memory holds no others. */
  #dropOlder(newest: string): void {
    const folder = newest.slice(0, newest.lastIndexOf("/"));
    for (const { name, isDirectory } of [...files.readDirSync(folder)]) {
      const path = `${folder}/${name}`;
      if (isDirectory && path !== newest) files.removeSync(path, { recursive: true });
    }
  }

  /** Keeps the run as it is now, once what was kept before is written. */
  #keep(standing: Standing): void {
    const first = { name: STANDING, text: JSON.stringify(standing) };
    const tar = archiveOf(files, FOLDER, { first });
    this.#keeping = this.#keeping.then(() => keep(tar)).catch(({ message }) => {
      this.tell({
        type: "warning",
        message: `This browser does not keep the run (${message}): download it before you leave.`,
      });
    });
  }
}

/** Runs what may be done by one tab of a browser at a time: it keeps one run. */
async function alone(body: () => Promise<void>): Promise<void> {
  await navigator.locks.request("tango-run", { ifAvailable: true }, async (lock) => {
    if (lock !== null) return await body();
    throw new UserError(
      "Another tab of this browser trains, and one run is kept at a time: stop it there first.",
    );
  });
}

/** Of a step, as many as are shown. */
const SAMPLES = 24;
