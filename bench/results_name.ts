/**
 * The name of a file with a GPU's results, such as `nvidia-h100-80gb-hbm3-dawn.json`.
 *
 * @param engine what ran the kernels
 */
export function resultsName({ name }: { readonly name: string }, engine: string): string {
  const words = name.toLowerCase().replace(/[^a-z0-9.]+/g, "-").replace(/^-|-$/g, "");
  return `${words}-${engine}.json`;
}
