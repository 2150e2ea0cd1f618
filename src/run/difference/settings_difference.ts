import { parse } from "yaml";
import { exists } from "../../platform/files/atomic_file.ts";
import { isMapping } from "../../base/merged.ts";
import type { Settings } from "../config/changeable.ts";
import type { ConfigChange } from "../control/config_history.ts";
import { PLACE_KEYS } from "../record/inputs.ts";
import { readJsonLines } from "../store/json_lines_log.ts";
import type { RunFolder } from "../store/run_folder.ts";

/** Two runs that are looked at beside each other. */
export interface TwoRuns {
  readonly a: RunFolder;
  readonly b: RunFolder;
}

/** A key of the configuration that says different things; undefined where it says nothing. */
export interface SettingDifference {
  /** Such as `rollout.temperature`. */
  readonly key: string;
  /** The first step that it holds in, where it changed while a run went on; 0: from the beginning. */
  readonly step: number;
  readonly a: unknown;
  readonly b: unknown;
}

/**
 * What two configurations say differently about the computation: as the runs began with them, and as they changed while
 * the runs went on.
 *
 * @throws UserError when a file is damaged
 */
export function settingsDifference(runs: TwoRuns): SettingDifference[] {
  return [...ofBeginnings(runs), ...ofChanges(runs)];
}

function ofBeginnings({ a, b }: TwoRuns): SettingDifference[] {
  const [first, second] = [a, b].map(({ configuration }) =>
    flattened(parse(Deno.readTextFileSync(configuration)), "")
  );
  return [...new Set([...first.keys(), ...second.keys()])]
    .filter((key) => !PLACE_KEYS.includes(key.split(/[.[]/)[0]))
    .filter((key) => first.get(key) !== second.get(key))
    .map((key) => ({ key, step: 0, a: first.get(key), b: second.get(key) }));
}

function ofChanges({ a, b }: TwoRuns): SettingDifference[] {
  const [first, second] = [a, b].map(changesOf);
  return [...new Set([...first.keys(), ...second.keys()])].sort((one, other) => one - other)
    .flatMap((step) => {
      const [before, after] = [first, second].map((changes) => changes.get(step) ?? {});
      return [...new Set([...Object.keys(before), ...Object.keys(after)])]
        .filter((key) => before[key] !== after[key])
        .map((key) => ({ key, step, a: before[key], b: after[key] }));
    });
}

/** Settings that changed while a run went on, by the first step that they hold in. */
function changesOf({ history }: RunFolder): Map<number, Settings> {
  const lines = exists(history) ? readJsonLines<ConfigChange>(history) : [];
  return new Map(lines.map(({ step, settings }) => [step, settings]));
}

/** Values that are no mappings and no lists, by their keys. */
function flattened(value: unknown, key: string): Map<string, unknown> {
  const inner: [string, unknown][] = Array.isArray(value)
    ? value.map((item, i) => [`${key}[${i}]`, item])
    : isMapping(value)
    ? Object.entries(value).map(([name, item]) => [key === "" ? name : `${key}.${name}`, item])
    : [];
  if (inner.length === 0) return new Map([[key, isLeaf(value) ? value : JSON.stringify(value)]]);
  return new Map(inner.flatMap(([name, item]) => [...flattened(item, name)]));
}

const isLeaf = (value: unknown) => typeof value !== "object" || value === null;
