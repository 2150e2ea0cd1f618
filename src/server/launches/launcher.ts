import { basename, join } from "node:path";
import { removeIfPresent } from "../../platform/files/atomic_file.ts";
import { readReason } from "../../platform/process/reason_file.ts";
import { UserError } from "../../base/user_error.ts";
import { freeBytes } from "../../platform/files/disk.ts";
import {
  isAlive,
  killProcess,
  type ProcessIdentity,
} from "../../platform/process/process_identity.ts";
import { liveProcess } from "../../run/control/endpoint/control_file.ts";
import type { Settings } from "../../run/config/changeable.ts";
import { CONTINUE, nextRunDirectory, RunFolder, type RunKind } from "../../run/store/run_folder.ts";
import { RequestProblem } from "../http/problem.ts";
import type { RunLaunch, RunPlan } from "../runs/launch.ts";
import type { LiveMemory } from "../runs/live_memory.ts";
import type { RunList } from "../runs/run_list.ts";
import type { LaunchStore } from "./launch_store.ts";
import { planMemory, type PlannedMemory } from "./memory_plan.ts";
import { type PlacedRun, placeRun } from "./place_run.ts";
import {
  lastErrorLines,
  type OutputFiles,
  type StartedProcess,
  startProcess,
} from "./run_process.ts";
import { moreOptions, type PreparedRun } from "./run_request.ts";

/** How often processes that are not this one's children are looked at. */
const LOOK_MS = 500;
/** With less, a run's output may not have been taken. */
const LEAST_FREE_BYTES = 1 << 16;
/** Runs that may wait. */
const LONGEST_QUEUE = 100;

/** Starts runs as processes that outlive the server, each as soon as its memory is free. */
export class Launcher implements Disposable {
  readonly #looking: ReturnType<typeof setInterval>;
  /** Processes that are this one's children. */
  readonly #children = new Set<number>();
  #isAdvancing = false;
  /** Processes go on, and the next server finds them. */
  #isClosed = false;
  /** Runs whose plan was made by this server: what a GPU has may be another after a while. */
  readonly #planned = new Set<string>();

  /**
   * @param own the server's own folder
   * @param program the main module of the command line
   */
  constructor(
    readonly list: RunList,
    readonly launches: LaunchStore,
    readonly own: string,
    readonly program: string,
    private readonly memory: LiveMemory,
  ) {
    for (const [name, { state, process }] of launches.all()) {
      // The server went down in the moment between: such a run tells of itself by its folder.
      if (state === "running" && process === null) launches.change(name, { state: "ended" });
    }
    this.#looking = setInterval(() => this.#look(), LOOK_MS);
    this.#look();
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    clearInterval(this.#looking);
  }

  /**
   * Puts a run into the queue.
   *
   * @param wanted the folder's name; null takes the next free one
   * @param remember called with the name before anything is started, in the same transaction
   * @returns its name
   * @throws RequestProblem when there is such a run already, or too many wait
   */
  begin(prepared: PreparedRun, wanted: string | null, remember: (name: string) => void): string {
    this.#requireRoom();
    const { kind, ranks, gpuIndex, written, options } = prepared;
    const name = wanted ?? this.#freeName(prepared.name);
    if (this.#isTaken(name)) {
      throw new RequestProblem(409, `There is a run ${name} already.`, "run");
    }
    const path = this.#configurationOf(name);
    Deno.writeTextFileSync(path, written);
    const args = [kind, "--config", path, "--run", this.#folderOf(name), ...options];
    this.launches.database.transaction(() => {
      this.launches.add(name, { ...waiting(kind, args, ranks), gpuIndex });
      remember(name);
    });
    this.#carryOn(this.#advance());
    return name;
  }

  /**
   * Puts a run that has ended into the queue again.
   *
   * @throws RequestProblem when too many wait
   */
  resume(
    name: string,
    kind: RunKind,
    asked: {
      readonly ranks: number;
      readonly seeds?: number[];
      /** That change, as the run goes on. */
      readonly settings?: Settings;
    },
  ): void {
    this.#requireRoom();
    const { ranks } = asked;
    const before = this.launches.find(name);
    // Another number of ranks takes other memory of each GPU; several are spread over GPUs by themselves.
    const plan = before?.ranks === ranks ? before.plan : null;
    const gpuIndex = ranks === 1 ? before?.gpuIndex ?? null : null;
    const args = [kind, "--run", this.#folderOf(name), "--resume", ...moreOptions(asked)];
    this.launches.add(name, { ...waiting(kind, args, ranks), plan, gpuIndex });
    this.#carryOn(this.#advance());
  }

  /** Ends a run at once, or takes it out of the queue. */
  kill(name: string): void {
    const launch = this.launches.find(name);
    const run = this.list.find(name);
    const endedAt = new Date().toISOString();
    if (launch?.state === "waiting") {
      this.launches.note(name, { state: "ended", isKilled: true, endedAt });
    } else {
      this.#adopt(name);
      this.launches.note(name, { isKilled: true });
      // Of several ranks the first one, and what started them, which ends the others.
      if (launch?.process) killProcess(launch.process);
      if (run?.live) killProcess(run.live.process);
    }
  }

  /** Remembers that a run was asked to stop. */
  stopAsked(name: string): void {
    this.#adopt(name);
    this.launches.note(name, { isStopAsked: true });
  }

  /** Takes a run of the command line for one of its own from now on. */
  #adopt(name: string): void {
    const live = this.list.find(name)?.live ?? null;
    if (live === null || this.launches.find(name)?.state === "running") return;
    const { process, since: startedAt } = live;
    const { kind = "train", indexed } = this.list.find(name) ?? {};
    const found = waiting(kind, [], indexed?.progress.ranks ?? 1);
    this.launches.add(name, { ...found, state: "running", process, startedAt });
  }

  /** Forgets a run that has ended, and removes what was kept for it. */
  forget(name: string): void {
    this.launches.remove(name);
    removeIfPresent(this.#configurationOf(name));
    for (const file of Object.values(this.#filesOf(name))) removeIfPresent(file);
  }

  /** Where what a run's process prints goes. */
  #filesOf(name: string): OutputFiles {
    return {
      output: join(this.own, `${name}.log`),
      errors: join(this.own, `${name}.errors`),
      reason: join(this.own, `${name}.reason`),
    };
  }

  #requireRoom(): void {
    const queued = this.launches.all().filter(([, { state }]) => state === "waiting").length;
    if (queued < LONGEST_QUEUE) return;
    throw new RequestProblem(429, `${queued} runs are waiting already.`);
  }

  #freeName(name: string): string {
    for (let path = nextRunDirectory(this.list.root, name);;) {
      const found = basename(path);
      if (!this.#isTaken(found)) return found;
      // Of a run that waits, and has no folder yet.
      const number = Number(/\d+$/.exec(path)?.[0]) + 1;
      path = path.replace(/\d+$/, String(number).padStart(3, "0"));
    }
  }

  #isTaken(name: string): boolean {
    return this.launches.find(name) !== null || RunFolder.at(this.#folderOf(name)).isUsed;
  }

  #folderOf(name: string): string {
    return join(this.list.root, name);
  }

  #configurationOf(name: string): string {
    return join(this.own, `${name}.yaml`);
  }

  /** Finds those that have ended unseen: they were started by an earlier server. */
  #look(): void {
    try {
      this.#findEnded();
    } catch (error) {
      console.error(error); // as in #carryOn
    }
    this.#carryOn(this.#advance());
  }

  #findEnded(): void {
    this.launches.writeRest();
    for (const [name, { state, process }] of this.launches.all()) {
      if (state !== "running" || process === null || this.#children.has(process.pid)) continue;
      if (!isAlive(process)) this.#carryOn(this.#end(name, process, null));
    }
  }

  /** What fails, such as a write to a full disk, is tried again when processes are looked at next. */
  #carryOn(work: Promise<void>): void {
    work.catch((error) => console.error(error));
  }

  async #end(name: string, process: ProcessIdentity, exitCode: number | null): Promise<void> {
    await this.list.catchUp(name);
    // The run may have been gone on with meanwhile, by another process.
    if (this.#isClosed || this.launches.find(name)?.process?.started !== process.started) return;
    const endedAt = new Date().toISOString();
    const { reason } = this.#filesOf(name);
    this.launches.note(name, {
      state: "ended",
      endedAt,
      exitCode,
      lastWords: this.#lastWords(name),
      reason: reason === undefined ? null : readReason(reason),
    });
    this.#carryOn(this.#advance());
  }

  /** What a run printed last on standard error; where a full disk took nothing of it, that. */
  #lastWords(name: string): string | null {
    const words = lastErrorLines(this.#filesOf(name));
    if (words !== null || (freeBytes(this.own) ?? Infinity) >= LEAST_FREE_BYTES) return words;
    return `${this.list.root}: the disk is full. Make room and ${CONTINUE}.`;
  }

  /** Starts those that wait and fit, in their order. */
  async #advance(): Promise<void> {
    if (this.#isAdvancing || this.#isClosed) return;
    this.#isAdvancing = true;
    try {
      for (;;) {
        const next = this.launches.all().find(([, { state }]) => state === "waiting");
        if (next === undefined) return;
        const [name, launch] = next;
        const isPlanned = launch.plan !== null && this.#planned.has(name);
        const plan = isPlanned ? launch.plan : await this.#plan(name, launch);
        if (this.#isClosed) return;
        // It may have been taken out of the queue meanwhile.
        if (this.launches.find(name)?.state !== "waiting") continue;
        // A run that is gone on with may still be ending.
        const isEnding = liveProcess(RunFolder.at(this.#folderOf(name))) !== null;
        if (isEnding) return;
        // What cannot start anyway takes no memory, and says itself why: nobody waits for that.
        const gpus = plan === "refused" ? [] : placeRun({ ...launch, plan }, this.#goingOn());
        if (gpus === null) return;
        this.#start(name, { ...launch, plan: plan === "refused" ? null : plan, gpus });
      }
    } finally {
      this.#isAdvancing = false;
    }
  }

  /** @returns null when it cannot be planned, "refused" when the run could not start that way */
  async #plan(
    name: string,
    { kind, args, ranks, gpuIndex }: RunLaunch,
  ): Promise<RunPlan | "refused" | null> {
    const value = (option: string) => args.flatMap((arg, i) => args[i - 1] === option ? [arg] : []);
    const [file = RunFolder.at(this.#folderOf(name)).configuration] = value("--config");
    const steps = value("--steps").map(Number)[0];
    const request = {
      kind,
      file,
      set: value("--set"),
      steps,
      ranks,
      gpuIndex: gpuIndex ?? undefined,
    };
    let planned: PlannedMemory;
    try {
      planned = await planMemory(request, { isFirst: true });
    } catch (error) {
      return error instanceof UserError ? "refused" : null;
    }
    if (this.#isClosed) return null;
    const { peakBytes: bytes, limitBytes, gpus } = planned;
    const plan = { bytes, limitBytes, gpus };
    this.#planned.add(name);
    this.launches.change(name, { plan });
    return plan;
  }

  /** The runs that take memory: those it started, and those of a terminal. */
  #goingOn(): PlacedRun[] {
    const started = this.launches.all().filter(([, { state }]) => state === "running");
    const names = new Set(started.map(([name]) => name));
    const others = this.list.all.filter(({ name, live, comparison }) =>
      live !== null && comparison === null && !names.has(name)
    );
    const bytesOf = (name: string) => this.memory.of(name)?.planned ?? null;
    return [
      ...started.map(([name, { plan, gpus, ranks }]) => (
        { ranks, gpus, bytes: plan?.bytes ?? bytesOf(name) }
      )),
      ...others.map(({ name, indexed }) => (
        { ranks: indexed.progress.ranks ?? 1, gpus: [], bytes: bytesOf(name) }
      )),
    ];
  }

  #start(name: string, { args, ranks, gpuIndex, plan, gpus }: RunLaunch): void {
    const startedAt = new Date().toISOString();
    // Written down first: what cannot be written down is not started.
    this.launches.change(name, { state: "running", startedAt, gpus });
    // Where there is one alone, the engine finds it.
    const isChosen = ranks === 1 && (gpuIndex !== null || (plan !== null && plan.gpus.length > 1));
    const choice = isChosen ? ["--gpu-index", String(gpuIndex ?? gpus[0])] : [];
    let started: StartedProcess;
    try {
      started = startProcess(this.program, [...args, ...choice], this.#filesOf(name));
    } catch (error) {
      const ended = { state: "ended", endedAt: startedAt, exitCode: 1 } as const;
      this.launches.note(name, { ...ended, lastWords: (error as Error).message });
      return;
    }
    const { process, ended } = started;
    this.#children.add(process.pid);
    this.#carryOn(ended.then((code) => {
      this.#children.delete(process.pid);
      return this.#end(name, process, code);
    }));
    this.launches.note(name, { process });
  }
}

function waiting(kind: RunKind, args: readonly string[], ranks: number): RunLaunch {
  return {
    kind,
    args,
    ranks,
    gpuIndex: null,
    state: "waiting",
    process: null,
    plan: null,
    gpus: [],
    createdAt: new Date().toISOString(),
    startedAt: null,
    endedAt: null,
    exitCode: null,
    lastWords: null,
    isStopAsked: false,
    isKilled: false,
  };
}
