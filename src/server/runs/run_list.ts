import { basename, isAbsolute, relative, sep } from "node:path";
import { liveProcess, type RunProcess } from "../../run/control/endpoint/control_file.ts";
import type { RunFolder } from "../../run/store/run_folder.ts";
import type { IndexedRun, RunIndex } from "../index/run_index.ts";
import { EventFeed } from "./event_feed.ts";
import { comparedRuns, findRun, type FoundRun } from "./found_run.ts";

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

/** How often the folders of runs that go on are looked at: the file system tells of most changes at once. */
const SCAN_MS = 1000;
/** All folders are, in every so many of them. */
const WHOLE_SCAN = 10;
/** How long changes are gathered. */
const GATHER_MS = 50;

/** All runs in a folder, kept up to date. */
export class RunList implements Disposable {
  readonly feed = new EventFeed();
  readonly #runs = new Map<string, ListedRun>();
  readonly #changed = new Set<string>();
  /** Null where the system cannot watch: the folders are looked at all the same. */
  readonly #watcher: Deno.FsWatcher | null;
  readonly #timers: ReturnType<typeof setInterval>[];
  /** By the names of runs that cannot be followed. */
  readonly #problems = new Map<string, string>();
  #isWatched = true;
  #scans = 0;
  #isUpdating = false;
  #isClosed = false;

  /** @param root the folder; it must be there */
  constructor(readonly root: string, readonly index: RunIndex) {
    this.#watcher = this.#openWatcher();
    if (this.#watcher !== null) {
      this.#watch(this.#watcher).catch((error) => this.#watchNoMore(error));
    }
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
    const [problem = null] = this.#problems.values();
    return problem;
  }

  get all(): ListedRun[] {
    return [...this.#runs.values()];
  }

  find(name: string): ListedRun | null {
    return this.#runs.get(name) ?? null;
  }

  /** Reads all that is new in a run's logs, also while those of others are being read. */
  async catchUp(name: string): Promise<void> {
    this.#changed.delete(name);
    await this.#readAll(name);
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    for (const timer of this.#timers) clearInterval(timer);
    this.#watcher?.close();
    this.feed[Symbol.dispose]();
  }

  #openWatcher(): Deno.FsWatcher | null {
    try {
      return Deno.watchFs(this.root);
    } catch (error) {
      this.#watchNoMore(error); // such as a limit on how many may watch
      return null;
    }
  }

  #watchNoMore(error: unknown): void {
    this.#isWatched = false;
    const message = error instanceof Error ? error.message : String(error);
    console.error(
      `${this.root} is not watched: ${message}. Its folders are looked at once a second.`,
    );
  }

  async #watch(watcher: Deno.FsWatcher): Promise<void> {
    // Some systems tell of paths without links, others as they were given.
    const roots = [Deno.realPathSync(this.root), this.root];
    for await (const { paths } of watcher) {
      for (const path of paths) {
        const places = roots.map((root) => relative(root, path));
        const inside = places.find((place) => !place.startsWith("..") && !isAbsolute(place));
        this.#changed.add((inside ?? path).split(sep)[0]);
      }
    }
  }

  #scan(): void {
    const isWhole = !this.#isWatched || this.#scans++ % WHOLE_SCAN === 0;
    // What nobody runs is told of by the file system when it changes.
    const isDue = (name: string) =>
      isWhole || this.#runs.get(name)?.live !== null || this.#problems.has(name);
    try {
      for (const { name } of Deno.readDirSync(this.root)) if (isDue(name)) this.#changed.add(name);
      this.#problems.delete("");
    } catch (error) {
      this.#problems.set("", `${this.root} cannot be read: ${(error as Error).message}.`);
    }
    for (const name of this.#runs.keys()) if (isDue(name)) this.#changed.add(name);
    for (const name of this.#problems.keys()) if (name !== "") this.#changed.add(name);
  }

  /** Reads what is new; a long log in parts, between which others are served. */
  async #update(): Promise<void> {
    if (this.#isUpdating) return;
    this.#isUpdating = true;
    try {
      for (const name of this.#changed) {
        this.#changed.delete(name);
        await this.#readAll(name);
      }
    } finally {
      this.#isUpdating = false;
    }
  }

  async #readAll(name: string): Promise<void> {
    while (this.#updateRun(name)) await new Promise((resolve) => setTimeout(resolve, 0));
  }

  /** @returns whether there is more to be read */
  #updateRun(name: string): boolean {
    if (this.#isClosed || name.startsWith(".")) return false;
    try {
      return this.#followRun(name);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      this.#problems.set(name, `What is shown of ${this.root}/${name} is behind: ${message}.`);
      const known = this.#runs.get(name);
      // Whether somebody runs it is known all the same, unless that is what cannot be read.
      if (known) this.#runs.set(name, { ...known, live: liveRunIfReadable(known.folder) });
      return false; // it is tried again when the folders are looked at next
    }
  }

  #followRun(name: string): boolean {
    const before = this.#runs.get(name);
    const found = findRun(this.root, name, before);
    if (found === null) {
      this.#problems.delete(name);
      if (before) this.#forget(before);
      return false;
    }
    const { id } = this.index.find(name, found.mark);
    const { events, isMore } = this.index.update(id, found.folder);
    const indexed = this.index.find(name, found.mark);
    const run: ListedRun = { ...found, indexed, live: this.#liveRun(found) };
    if (found.kind === "compare") {
      for (const inner of comparedRuns(found)) this.#changed.add(inner);
    }
    this.#runs.set(name, run);
    this.#problems.delete(name);
    if (events.length > 0 || before?.mark !== run.mark) this.feed.tell(name);
    return isMore;
  }

  /** What a comparison does at present goes on in the comparison's process. */
  #liveRun({ comparison, folder }: FoundRun): LiveRun | null {
    if (comparison === null) return liveRun(folder);
    const doing = this.#runs.get(comparison);
    return doing?.indexed.progress.comparedRun === basename(folder.path) ? doing.live : null;
  }

  #forget(run: ListedRun): void {
    this.#runs.delete(run.name);
    this.index.remove(run.indexed.id);
    this.feed.tell(run.name);
  }
}

function liveRunIfReadable(folder: RunFolder): LiveRun | null {
  try {
    return liveRun(folder);
  } catch {
    return null; // the run's problem says so
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
