import { exists } from "../../base/atomic_file.ts";
import { readJsonLines, type StepLine } from "../store/json_lines_log.ts";
import { readRunDevice } from "../store/run_device.ts";
import type { RunFolder } from "../store/run_folder.ts";
import type { TwoRuns } from "./settings_difference.ts";

/** Something of where and by what two runs were computed that was not the same, in words. */
export interface SurroundingsDifference {
  readonly what: string;
  readonly a: string;
  readonly b: string;
  /** Whether it may show in the bits. */
  readonly isVisible: boolean;
}

/** What differs of program, device, driver, engine, kernels and ranks. */
export function surroundingsDifference({ a, b }: TwoRuns): SurroundingsDifference[] {
  const [first, second] = [a, b].map(surroundingsOf);
  return [...new Set([...first.keys(), ...second.keys()])].flatMap((what) => {
    const [one, other] = [first, second].map((facts) => facts.get(what));
    // Which variants a device has chosen for shapes that only one of the runs has says nothing.
    const isKernel = what.startsWith(KERNELS);
    if (one === other || (isKernel && (one === undefined || other === undefined))) return [];
    const isVisible = !isKernel && what !== RANKS;
    return [{ what, a: one ?? "not told", b: other ?? "not told", isVisible }];
  });
}

const KERNELS = "kernel for ";
const RANKS = "ranks";

function surroundingsOf(folder: RunFolder): Map<string, string> {
  const device = readRunDevice(folder);
  const facts: [string, string | undefined][] = [
    ["program", device?.program],
    ["device", device?.adapter],
    ["driver", device?.driver],
    ["engine", device?.engine],
    ["class of bits", device?.bits],
    ["keys and values in", device?.cache],
    ["frozen weights in", device?.frozen?.join(" and ")],
    [RANKS, ranksOf(folder)],
    ...Object.entries(device?.variants ?? {}).flatMap(([operation, classes]) =>
      Object.entries(classes).map(([shapes, variant]): [string, string] => [
        `${KERNELS}${operation} of ${shapes}`,
        variant,
      ])
    ),
  ];
  return new Map(facts.flatMap(([what, fact]) => fact === undefined ? [] : [[what, fact]]));
}

/** By how many ranks each part of a run was computed: `2`, or `2, then 1` where it was resumed on another number. */
function ranksOf({ events }: RunFolder): string | undefined {
  if (!exists(events)) return undefined;
  const counts = readJsonLines<StepLine & { readonly type?: string; readonly ranks?: number }>(
    events,
  )
    .flatMap(({ type, ranks }) => type === "started" && ranks !== undefined ? [ranks] : []);
  return counts.filter((count, i) => count !== counts[i - 1]).join(", then ") || undefined;
}
