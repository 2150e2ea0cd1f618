import { parse } from "yaml";
import { isMapping } from "../../base/merged.ts";
import { PLACE_KEYS } from "../record/inputs.ts";
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
  readonly a: unknown;
  readonly b: unknown;
}

/** What two configurations, as the runs began with them, say differently about the computation. */
export function settingsDifference({ a, b }: TwoRuns): SettingDifference[] {
  const [first, second] = [a, b].map(({ configuration }) =>
    flattened(parse(Deno.readTextFileSync(configuration)), "")
  );
  return [...new Set([...first.keys(), ...second.keys()])]
    .filter((key) => !PLACE_KEYS.includes(key.split(/[.[]/)[0]))
    .filter((key) => first.get(key) !== second.get(key))
    .map((key) => ({ key, a: first.get(key), b: second.get(key) }));
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
