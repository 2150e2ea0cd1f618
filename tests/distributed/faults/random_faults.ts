/**
 * Faults of all kinds at random moments of runs over 4 ranks, each resumed on 4, 2 or 1 to the bytes of an undisturbed run:
 * `deno run -A tests/distributed/faults/random_faults.ts [count] [seed]`.
 */

import { RandomStream } from "../../../src/random/philox.ts";
import { faults } from "./fault.ts";
import { FaultyProject } from "./faulty_project.ts";

const [count = 20, seed = 1] = Deno.args.map(Number);
const STEPS = 8, RANKS = 4;

const random = new RandomStream(seed, 0);
const below = (n: number) => random.integer(n);
const choose = <Item>(items: readonly Item[]) => items[below(items.length)];

using project = new FaultyProject();
await project.prepare(STEPS);
await project.train("whole", 1);
const seconds: number[] = [];
for (let i = 0; i < count; i++) {
  const fault = faults[i % faults.length], rank = choose(fault.ranks(RANKS));
  const steps = 1 + below(STEPS - 2), milliseconds = below(400), resumedOn = choose([4, 2, 1]);
  const name = `fault-${i}`;
  const report = await project.suffer(name, RANKS, fault, rank, { steps, milliseconds });
  await project.train(name, resumedOn, { resume: true });
  project.compare(name, "whole");
  seconds.push(report.seconds);
  console.log(
    `${
      i + 1
    }/${count}: ${fault.name} on rank ${rank}, ${milliseconds} ms after step ${steps}: ended in ` +
      `${report.seconds.toFixed(1)} s, resumed on ${resumedOn}, same bytes`,
  );
}
console.log(
  `${count} faults; the longest took ${Math.max(...seconds).toFixed(1)} s to end all ranks`,
);
Deno.exit(0);
