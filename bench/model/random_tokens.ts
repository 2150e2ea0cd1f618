import { RandomStream } from "../../src/random/philox.ts";

/** Uniform token ids [count], the same ones for the same place. */
export function randomTokens(place: number, count: number, vocabularySize: number): Uint32Array {
  const random = new RandomStream(1, place);
  return Uint32Array.from({ length: count }, () => random.integer(vocabularySize));
}
