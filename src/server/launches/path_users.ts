import { parse } from "yaml";
import { exists } from "../../platform/files/atomic_file.ts";
import { RunFolder } from "../../run/store/run_folder.ts";
import { isAllowed } from "./allowed_paths.ts";
import type { AllRuns } from "./all_runs.ts";
import type { LaunchStore } from "./launch_store.ts";

const OVER: readonly string[] = ["stopped", "finished", "failed", "killed", "lost"];

/** Runs that wait or go on and read or write something at a path or in a folder: it may not be removed under them. */
export function usersOf(path: string, runs: AllRuns, launches: LaunchStore): string[] {
  return runs.views.filter(({ state }) => !OVER.includes(state)).filter(({ id, folder }) => {
    if (isAllowed(path, [folder])) return true; // it is that run's own
    const args = launches.find(id)?.args ?? [];
    const named = args.flatMap((arg, i) => args[i - 1] === "--config" ? [arg] : []);
    const files = [RunFolder.at(folder).configuration, ...named].filter(exists);
    const texts = [
      ...files.flatMap((file) => textsIn(parse(Deno.readTextFileSync(file)))),
      // `--set KEY=PATH`, whatever YAML it is.
      ...args.flatMap((arg) => arg.split(/[=\s"'{}[\],]+/)),
    ];
    return texts.some((text) => text.includes("/") && isAllowed(text, [path]));
  }).map(({ id }) => id);
}

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(textsIn);
}
