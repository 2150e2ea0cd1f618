/**
 * Faults of all kinds at random moments of runs over 4 ranks, each resumed on 4, 2 or 1 to the bytes of an undisturbed run:
 * `deno run -A tests/distributed/faults/random_faults.ts [count] [seed]`, as root, for two hosts whose link is cut.
 */

import { findMpiexec } from "../../../src/cli/ranks/mpiexec.ts";
import { RandomStream } from "../../../src/random/philox.ts";
import { faults } from "./fault.ts";
import { FaultyProject } from "./faulty_project.ts";
import { TwoHosts } from "../two_hosts.ts";

const [count = 20, seed = 1] = Deno.args.map(Number);
const STEPS = 8, RANKS = 4;

const random = new RandomStream(seed, 0);
const below = (n: number) => random.integer(n);
const choose = <Item>(items: readonly Item[]) => items[below(items.length)];

const mpiexec = await findMpiexec();
if (mpiexec === null) throw new Error("there is no MPI on this machine");

using project = new FaultyProject();
project.prepare(STEPS);
await project.train("whole", 1);
const seconds: number[] = [];
for (let i = 0; i < count; i++) {
  const fault = [...faults, null][i % (faults.length + 1)]; // null is a cut link
  const rank = fault ? choose(fault.ranks(RANKS)) : null;
  const steps = 1 + below(STEPS - 2), milliseconds = below(400), resumedOn = choose([4, 2, 1]);
  const name = `fault-${i}`;
  const when = { steps, milliseconds };
  let what: string, ended: number;
  if (fault && rank !== null) {
    what = `${fault.name} on rank ${rank}`;
    ended = (await project.suffer(name, RANKS, fault, rank, when)).seconds;
  } else {
    what = "the link between two hosts cut";
    using hosts = TwoHosts.make();
    if (hosts === null) throw new Error("this process may not make network namespaces");
    ended = (await project.sufferCut(name, hosts, mpiexec, RANKS, when)).seconds;
  }
  await project.train(name, resumedOn, { resume: true });
  project.compare(name, "whole");
  seconds.push(ended);
  console.log(
    `${i + 1}/${count}: ${what}, ${milliseconds} ms after step ${steps}: ended in ` +
      `${ended.toFixed(1)} s, resumed on ${resumedOn}, same bytes`,
  );
}
console.log(
  `${count} faults; the longest took ${Math.max(...seconds).toFixed(1)} s to end all ranks`,
);
Deno.exit(0);
