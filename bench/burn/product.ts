import { join } from "node:path";
import type { GemmLayout } from "../../src/kernels/products/gemm.ts";
import { makeProduct } from "../kernels/gemm.ts";
import { largestError } from "../measure.ts";
import { PeerDisagrees } from "../peer_disagrees.ts";
import type { PrepareBeside } from "./measure_burn.ts";
import { readFloats, writeNumbers } from "./number_files.ts";

/** A batch of launches lasts this long at least, so that the wait at its end counts for little. */
const batchSeconds = 0.2;
const mostLaunches = 256;

/** A matrix product; both sides' is compared with float64 at the same elements. */
export const prepareProduct: PrepareBeside = async (bench, task, peer, folder) => {
  const { gpu } = bench;
  const { m, n, k } = task.shape.size;
  const layout = task.variant as GemmLayout;
  const product = makeProduct(bench, task.shape, layout);
  const [a, b, result] = ["a", "b", "c"].map((name) => join(folder, name));
  writeNumbers(a, product.a);
  writeNumbers(b, product.b);
  await peer.ask({ do: "product", layout, m, n, k, a, b, result });
  product.launch();
  for (
    const [whose, values] of [["our", await gpu.readFloats(product.c)], [
      "burn's",
      readFloats(result),
    ]] as const
  ) {
    const wrong: string[] = [];
    largestError(product.compare(values), (line) => wrong.push(line));
    if (wrong.length > 0) {
      throw new PeerDisagrees(`${whose} ${task.name}/${task.shape.label}:\n${wrong.join("\n")}`);
    }
  }
  const run = async (launches: number) => {
    for (let i = 0; i < launches; i++) product.launch();
    await gpu.finish();
  };
  const start = performance.now();
  await run(2);
  const once = (performance.now() - start) / 2000;
  const times = Math.max(2, Math.min(mostLaunches, Math.ceil(batchSeconds / once)));
  return {
    amount: times * product.work,
    run: () => run(times),
    peers: { burn: async () => (await peer.ask({ do: "run", times })).seconds },
  };
};
