import type { Kernel, KernelSource } from "./kernel.ts";

/** A place on the way to kernels: the next name or value of their defines leads on. */
interface Place {
  kernel: Kernel | null;
  readonly next: Map<unknown, Place>;
}

const newPlace = (): Place => ({ kernel: null, next: new Map() });

const none = {};

/**
 * Compiled kernels by text and defines; the same ones give the same kernel, whatever the label. One is looked for with
 * every launch, so that nothing is written out or allocated for it: names and values are followed one by one.
 */
export class KernelTable {
  readonly #texts = new Map<string, Place>();
  readonly #all: Kernel[] = [];

  /** In the order they were made. */
  get all(): readonly Kernel[] {
    return this.#all;
  }

  /** The kernel of a source, made by `make` when there is none yet. */
  get(source: KernelSource, make: (source: KernelSource) => Kernel): Kernel {
    const { code, defines = none as NonNullable<KernelSource["defines"]> } = source;
    let place = onward(this.#texts, code);
    for (const name in defines) place = onward(onward(place.next, name).next, defines[name]);
    if (!place.kernel) this.#all.push(place.kernel = make(source));
    return place.kernel;
  }
}

function onward<Key>(places: Map<Key, Place>, key: Key): Place {
  let place = places.get(key);
  if (!place) places.set(key, place = newPlace());
  return place;
}
