import { startsOf } from "../audit/device_at.ts";
import { type DeviceFacts, readRunDevice } from "../store/run_device.ts";
import type { RunFolder } from "../store/run_folder.ts";
import type { TwoRuns } from "./settings_difference.ts";

/** Something of where and by what two runs were computed that was not the same, in words. */
export interface SurroundingsDifference {
  readonly what: string;
  /** Several, one after another, where the run was resumed elsewhere. */
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
  const last = readRunDevice(folder);
  const starts = startsOf(folder);
  const told = starts.flatMap(({ device }) => device ? [device] : []);
  const devices = told.length > 0 ? told : last ? [last] : [];
  const of = (fact: (device: DeviceFacts) => string | undefined) => inTurn(devices.map(fact));
  const facts: [string, string | undefined][] = [
    ["program", of(({ program }) => program)],
    ["device", of(({ adapter }) => adapter)],
    ["driver", of(({ driver }) => driver)],
    ["engine", of(({ engine }) => engine)],
    ["class of bits", of(({ bits }) => bits)],
    ["keys and values in", of(({ cache }) => cache)],
    ["frozen weights in", of(({ frozen }) => frozen?.join(" and "))],
    [RANKS, inTurn(starts.map(({ ranks }) => String(ranks)))],
    ...Object.entries(last?.variants ?? {}).flatMap(([operation, classes]) =>
      Object.entries(classes).map(([shapes, variant]): [string, string] => [
        `${KERNELS}${operation} of ${shapes}`,
        variant,
      ])
    ),
  ];
  return new Map(facts.flatMap(([what, fact]) => fact === undefined ? [] : [[what, fact]]));
}

/** What was told at each start, without repetitions: `2`, or `2, then 1`. */
function inTurn(facts: readonly (string | undefined)[]): string | undefined {
  const told = facts.filter((fact) => fact !== undefined);
  return told.filter((fact, i) => fact !== told[i - 1]).join(", then ") || undefined;
}
