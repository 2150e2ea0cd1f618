import { UserError } from "../../base/user_error.ts";
import { readAccess } from "../../hub/access.ts";
import { HubClient } from "../../hub/hub_client.ts";
import { HubRepository } from "../../hub/hub_repository.ts";
import { folderFor } from "../../hub/manifest.ts";
import { pull, sumOf } from "../../hub/pull.ts";
import { parseRepository } from "../../hub/repository.ts";
import { pauseByClock } from "../../hub/retry.ts";
import { RequestProblem } from "../http/problem.ts";
import type { PullView } from "./model_schemas.ts";

const MOST_RUNNING = 4;
/** Of those that have ended, and were not asked for again. */
const MOST_KEPT = 100;

/** What is fetched: one call for each at a time, and a later one goes on where an earlier one stopped. */
export class Pulls implements Disposable {
  readonly #views = new Map<string, PullView>();
  readonly #ending = new AbortController();

  /** @param folder of the models' folders */
  constructor(private readonly folder: string) {}

  get all(): PullView[] {
    return [...this.#views.values()];
  }

  /**
   * Begins to fetch a model, unless that is under way.
   *
   * @param patterns globs; none: what the engine needs
   * @throws UserError when it has no name of a repository
   * @throws RequestProblem when too many are under way, or another one goes into its folder
   */
  begin(id: string, revision: string, patterns: readonly string[]): PullView {
    const repository = parseRepository(id, "model");
    const before = this.#views.get(id);
    if (before?.state === "running") return before;
    this.#requireRoom();
    const isTaken = (path: string) =>
      this.all.some((other) => other.state === "running" && other.path === path);
    const path = folderFor(repository, this.folder, isTaken);
    if (isTaken(path)) {
      throw new RequestProblem(409, `Another model is being fetched into ${path}.`);
    }
    const view: PullView = { id, path, state: "running", arrived: 0, total: null, error: null };
    this.#views.set(id, view);
    void this.#fetch(
      id,
      path,
      new HubRepository(repository, this.#client(), {
        pause: (seconds) => pauseByClock(seconds, this.#ending.signal),
        onRetry() {},
      }),
      { revision, patterns },
    );
    return view;
  }

  [Symbol.dispose](): void {
    this.#ending.abort(new Error("the server has ended"));
  }

  /** Makes room for one more, where others have ended. */
  #requireRoom(): void {
    const running = this.all.filter(({ state }) => state === "running").length;
    if (running >= MOST_RUNNING) {
      throw new RequestProblem(429, `${running} models are being fetched already.`);
    }
    const [oldest] = this.all.filter(({ state }) => state !== "running");
    if (this.#views.size >= MOST_KEPT && oldest) this.#views.delete(oldest.id);
  }

  #client(): HubClient {
    return new HubClient(readAccess(), this.#ending.signal);
  }

  async #fetch(
    id: string,
    folder: string,
    hub: HubRepository,
    wanted: { readonly revision: string; readonly patterns: readonly string[] },
  ): Promise<void> {
    const arrivedOf = new Map<string, number>();
    const change = (change: Partial<PullView>) => {
      const view = this.#views.get(id);
      if (view) this.#views.set(id, { ...view, ...change });
    };
    try {
      await pull(hub, { ...wanted, folder, signal: this.#ending.signal }, {
        onPlan: ({ missing }) => change({ total: sumOf(missing) }),
        onProgress({ path }, bytes) {
          arrivedOf.set(path, bytes);
          change({ arrived: arrivedOf.values().reduce((sum, value) => sum + value, 0) });
        },
      });
      change({ state: "done" });
    } catch (error) {
      // What is no mistake of the user is the program's, whose output says more.
      if (!(error instanceof UserError) && !this.#ending.signal.aborted) console.error(error);
      change({ state: "failed", error: error instanceof Error ? error.message : String(error) });
    }
  }
}
