import { join, sep } from "node:path";
import { exists } from "../../platform/files/atomic_file.ts";
import { UserError } from "../../base/user_error.ts";
import { readAccess } from "../../hub/access.ts";
import { HubClient } from "../../hub/hub_client.ts";
import { HubRepository } from "../../hub/hub_repository.ts";
import { folderFor } from "../../hub/manifest.ts";
import { MANIFEST_NAME } from "../../hub/names.ts";
import { pull, sumOf } from "../../hub/pull.ts";
import { parseRepository, type RepositoryKind } from "../../hub/repository.ts";
import { pauseByClock } from "../../hub/retry.ts";
import { RequestProblem } from "../http/problem.ts";
import type { PullView } from "./model_schemas.ts";

const MOST_RUNNING = 4;
/** Of those that have ended, and were not asked for again. */
const MOST_KEPT = 100;

const WORDS = { model: "model", dataset: "data set" } as const;

/** What is fetched of one kind: one call for each at a time, and a later one goes on where an earlier one stopped. */
export class Pulls implements Disposable {
  readonly #views = new Map<string, PullView>();
  readonly #ending = new AbortController();

  /**
   * @param folder in which each gets a folder
   * @param isReserved whether a folder of that name may not be made
   */
  constructor(
    private readonly folder: string,
    private readonly kind: RepositoryKind = "model",
    private readonly isReserved: (name: string) => boolean = () => false,
  ) {}

  get all(): PullView[] {
    return [...this.#views.values()];
  }

  /**
   * Begins to fetch one, unless that is under way.
   *
   * @param patterns globs; none: what the engine needs, or can read
   * @throws UserError when it has no name of a repository
   * @throws RequestProblem when too many are under way, or its folder is another one's
   */
  begin(id: string, revision: string, patterns: readonly string[]): PullView {
    const repository = parseRepository(id, this.kind);
    const before = this.#views.get(id);
    if (before?.state === "running") return before;
    this.#requireRoom();
    const isTaken = (path: string) =>
      this.all.some((other) => other.state === "running" && other.path === path);
    const path = folderFor(repository, this.folder, isTaken);
    if (isTaken(path)) {
      throw new RequestProblem(
        409,
        `Another ${WORDS[this.kind]} is being fetched into ${path}.`,
        "id",
      );
    }
    this.#requireOwn(path);
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

  /** Whether something is going to a folder, or into one below it. */
  isFetching(folder: string): boolean {
    return this.all.some(({ state, path }) =>
      state === "running" && (path === folder || path.startsWith(join(folder, "/")))
    );
  }

  /** @throws RequestProblem of a data set that was not fetched: a person's own files stay apart */
  #requireOwn(path: string): void {
    if (this.kind === "model") return;
    const name = path.slice(join(this.folder, "/").length).split(sep)[0];
    const isOthers = exists(path) && !exists(join(path, MANIFEST_NAME));
    if (!isOthers && !this.isReserved(name)) return;
    throw new RequestProblem(
      409,
      isOthers
        ? `${path} is there already and was not fetched from the Hub: delete that data set first.`
        : `A data set ${name} comes with the program.`,
      "id",
    );
  }

  /** Makes room for one more, where others have ended. */
  #requireRoom(): void {
    const running = this.all.filter(({ state }) => state === "running").length;
    if (running >= MOST_RUNNING) {
      throw new RequestProblem(429, `${running} ${WORDS[this.kind]}s are being fetched already.`);
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
