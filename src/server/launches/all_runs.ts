import { RequestProblem } from "../http/problem.ts";
import type { RunList } from "../runs/run_list.ts";
import type { LiveMemory } from "../runs/live_memory.ts";
import { type RunView, viewRun } from "../runs/run_view.ts";
import type { Launcher } from "./launcher.ts";

/** All runs: those in the folder, and those that were asked for and have no folder yet. */
export class AllRuns {
  constructor(private readonly launcher: Launcher, private readonly memory: LiveMemory) {}

  /** Those in the folder. */
  get list(): RunList {
    return this.launcher.list;
  }

  /** The newest first. */
  get views(): RunView[] {
    const { list, launches } = this.launcher;
    const launched = new Map(launches.all());
    const names = new Set([...list.all.map(({ name }) => name), ...launched.keys()]);
    return [...names].map((name) => this.#view(name))
      .sort((a, b) => compare(b.startedAt ?? "", a.startedAt ?? "") || compare(b.id, a.id));
  }

  has(name: string): boolean {
    const { list, launches } = this.launcher;
    return list.find(name) !== null || launches.find(name) !== null;
  }

  /** @throws RequestProblem when there is no such run */
  view(name: string): RunView {
    if (this.has(name)) return this.#view(name);
    throw new RequestProblem(404, `There is no run ${JSON.stringify(name.slice(0, 100))}.`);
  }

  #view(name: string): RunView {
    const { list, launches } = this.launcher;
    const run = list.find(name);
    const comparison = run?.comparison ?? null;
    const memory = this.memory.of(comparison ?? name);
    const view = viewRun(name, { run, launch: launches.find(name), memory }, list.root);
    if (comparison === null || view.state !== "lost") return view;
    // What ended the comparison's process ended its run.
    const { state, error, reason } = this.#view(comparison);
    return state === "killed" || state === "failed" ? { ...view, state, error, reason } : view;
  }
}

const compare = (a: string, b: string) => a < b ? -1 : a > b ? 1 : 0;
