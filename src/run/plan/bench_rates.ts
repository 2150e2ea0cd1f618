import { UserError } from "../../base/user_error.ts";
import type { KernelRates } from "./gpu_description.ts";

/** A result in a file of `bench --json`, as far as it is read. */
interface BenchResult {
  readonly name: string;
  readonly shape: string;
  readonly unit: string;
  readonly milliseconds: number;
  /** 10⁹ operations or bytes per second. */
  readonly rate: number;
}

/**
 * The rates of the device that `bench --json` measured: of products the median over the three layouts at
 * 1024³, of attention the forward pass's at the small shape, the bandwidth of a copy in a kernel, and for a launch
 * the time of the quickest kernel at its tiny shape.
 *
 * @throws UserError when the file cannot be read or lacks one of them
 */
export function readBenchRates(path: string): KernelRates {
  let file: { readonly rates?: { readonly gbps?: number }; readonly results?: BenchResult[] };
  try {
    file = JSON.parse(Deno.readTextFileSync(path));
  } catch (error) {
    throw new UserError(`${path}: ${(error as Error).message}. Write it with bench --json.`);
  }
  const results = Array.isArray(file?.results) ? file.results : [];
  const measured = (what: string, values: readonly number[]): number => {
    const sorted = values.filter((value) => value > 0).sort((a, b) => a - b);
    if (sorted.length > 0) return sorted[Math.floor(sorted.length / 2)];
    throw new UserError(
      `${path} has no measurement of ${what}; write it with bench --json and no --filter.`,
    );
  };
  const ratesOf = (name: RegExp, shape: string) =>
    results.filter((one) => name.test(one.name) && one.shape === shape).map(({ rate }) => rate);
  const quickest = results.filter(({ shape }) => shape === "tiny")
    .map(({ milliseconds }) => milliseconds).filter((value) => value > 0);
  return {
    products: 1e9 * measured("matrix products", ratesOf(/^gemm_(nt|nn|tn)$/, "square1024")),
    attention: 1e9 * measured("attention", ratesOf(/^attention_forward$/, "small")),
    bandwidth: 1e9 * measured("bandwidth", [file?.rates?.gbps ?? 0]),
    launch: 1e-3 * measured("a launch", quickest.length > 0 ? [Math.min(...quickest)] : []),
  };
}
