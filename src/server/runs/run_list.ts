import { liveProcess, type RunProcess } from "../../run/control/endpoint/control_file.ts";
import type { RunFolder } from "../../run/store/run_folder.ts";
import type { IndexedRun, RunIndex } from "../index/run_index.ts";
import { EventFeed } from "./event_feed.ts";
import { findRun, type FoundRun } from "./found_run.ts";

/** A run's folder, what the index has of it, and its process. */
export interface ListedRun extends FoundRun {
  readonly indexed: IndexedRun;
  /** Null when nobody runs what is in the folder. */
  readonly live: LiveRun | null;
}

/** A process that runs what is in a folder. */
export interface LiveRun extends RunProcess {
  /** ISO 8601. */
  readonly since: string;
}

/** How often all folders are looked at: the file system tells of most changes at once. */
const SCAN_MS = 1000;
/** How long changes are gathered. */
const GATHER_MS = 50;

/** All runs in a folder, kept up to date. */
export class RunList implements Disposable {
  readonly feed = new EventFeed();
  readonly #runs = new Map<string, ListedRun>();
  readonly #changed = new Set<string>();
  readonly #watcher: Deno.FsWatcher;
  readonly #timers: ReturnType<typeof setInterval>[];
  #problem: string | null = null;
  #isUpdating = false;
  #isClosed = false;

  /** @param root the folder; it must be there */
  constructor(readonly root: string, readonly index: RunIndex) {
    this.#watcher = Deno.watchFs(root);
    void this.#watch();
    this.#timers = [
      setInterval(() => this.#scan(), SCAN_MS),
      setInterval(() => void this.#update(), GATHER_MS),
    ];
    this.#scan();
    void this.#update();
  }

  /** Whether nothing is followed any more. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Why the index is behind the folders; null when it is not. */
  get problem(): string | null {
    return this.#problem;
  }

  get all(): ListedRun[] {
    return [...this.#runs.values()];
  }

  find(name: string): ListedRun | null {
    return this.#runs.get(name) ?? null;
  }

  /** Reads all that is new in a run's logs. */
  async catchUp(name: string): Promise<void> {
    this.#changed.add(name);
    await this.#update();
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    for (const timer of this.#timers) clearInterval(timer);
    this.#watcher.close();
  }

  async #watch(): Promise<void> {
    const prefix = `${Deno.realPathSync(this.root)}/`;
    for await (const { paths } of this.#watcher) {
      for (const path of paths) {
        const place = path.startsWith(prefix) ? path.slice(prefix.length) : path;
        this.#changed.add(place.replace(`${this.root}/`, "").split("/")[0]);
      }
    }
  }

  #scan(): void {
    for (const { name } of Deno.readDirSync(this.root)) this.#changed.add(name);
    for (const name of this.#runs.keys()) this.#changed.add(name);
  }

  /** Reads what is new; a long log in parts, between which others are served. */
  async #update(): Promise<void> {
    if (this.#isUpdating) return;
    this.#isUpdating = true;
    try {
      for (const name of this.#changed) {
        this.#changed.delete(name);
        while (this.#updateRun(name)) await new Promise((resolve) => setTimeout(resolve, 0));
      }
    } finally {
      this.#isUpdating = false;
    }
  }

  /** @returns whether there is more to be read */
  #updateRun(name: string): boolean {
    if (this.#isClosed || name.startsWith(".")) return false;
    const before = this.#runs.get(name);
    const found = findRun(this.root, name, before);
    if (found === null) {
      if (before) this.#forget(before);
      return false;
    }
    try {
      const indexed = this.index.find(name, found.mark);
      const { events, isMore } = this.index.update(indexed.id, found.folder);
      const run: ListedRun = {
        ...found,
        indexed: this.index.find(name, found.mark),
        live: liveRun(found.folder),
      };
      this.#runs.set(name, run);
      this.#problem = null;
      if (events.length > 0 || isChanged(before, run)) this.feed.tell(name);
      return isMore;
    } catch (error) {
      this.#problem = `The index of ${found.folder.path} is behind: ${(error as Error).message}`;
      return false;
    }
  }

  #forget(run: ListedRun): void {
    this.#runs.delete(run.name);
    this.index.remove(run.indexed.id);
    this.feed.tell(run.name);
  }
}

function liveRun(folder: RunFolder): LiveRun | null {
  const live = liveProcess(folder);
  if (live === null) return null;
  try {
    const { mtime } = Deno.statSync(folder.control);
    return { ...live, since: (mtime ?? new Date()).toISOString() };
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null; // it has just ended
    throw error;
  }
}

function isChanged(before: ListedRun | undefined, after: ListedRun): boolean {
  return before?.mark !== after.mark || before.indexed.rows !== after.indexed.rows ||
    (before.live === null) !== (after.live === null);
}
