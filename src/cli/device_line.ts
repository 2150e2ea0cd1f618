import type { ParameterCount } from "../model/decoder/model.ts";

/** `152,448 parameters`, or `152,448 parameters with an adapter of 9,216`. */
export function describeParameters({ model, adapter }: ParameterCount): string {
  const count = (value: number) => value.toLocaleString("en-US");
  const own = adapter === null ? "" : ` with an adapter of ${count(adapter)}`;
  return `${count(model)} parameters${own}`;
}

/** What a run of several ranks says of them: what shows in its bits are the parts. */
export function describeParts(
  ranks: number,
  { reduction: { shards } }: { readonly reduction: { readonly shards: number } },
): string[] {
  return ranks > 1 ? [`${ranks} ranks, batches in ${shards} shards`] : [];
}
