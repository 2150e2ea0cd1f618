import { RequestProblem } from "../http/problem.ts";
import type { Launch } from "./launch.ts";
import type { RunList } from "./run_list.ts";
import { type RunView, viewRun } from "./run_view.ts";

/** All runs: those in the folder, and those that were asked for and have no folder yet. */
export class Runs {
  constructor(readonly list: RunList) {}

  /** The newest first. */
  get all(): RunView[] {
    const names = new Set([...this.list.all.map(({ name }) => name)]);
    return [...names].map((name) => this.#view(name, null))
      .sort((a, b) => compare(b.startedAt ?? "", a.startedAt ?? "") || compare(b.id, a.id));
  }

  /** @throws RequestProblem when there is no such run */
  view(name: string): RunView {
    if (this.list.find(name) !== null) return this.#view(name, null);
    throw new RequestProblem(404, `There is no run ${JSON.stringify(name.slice(0, 100))}.`);
  }

  #view(name: string, launch: Launch | null): RunView {
    return viewRun(name, this.list.find(name), launch, this.list.root);
  }
}

const compare = (a: string, b: string) => a < b ? -1 : a > b ? 1 : 0;
