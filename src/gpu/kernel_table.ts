import type { Kernel, KernelSource } from "./kernel.ts";

/** A place on the way to kernels: the next name or value of their defines leads on. */
interface Place {
  kernel: Kernel | null;
  readonly next: Map<unknown, Place>;
}

const newPlace = (): Place => ({ kernel: null, next: new Map() });

const none = {};

/**
 * Compiled kernels by text and defines; the same ones give the same kernel, whatever the label. Every launch looks a
 * kernel up, so that nothing is written out or allocated for it: names and values are followed one by one.
 */
export class KernelTable {
  readonly #texts = new Map<string, Place>();
  readonly #all: Kernel[] = [];
  /** Sources of the kernels, in the order of `all`. */
  readonly sources: KernelSource[] = [];

  /** Kernels in the order in which they were made. */
  get all(): readonly Kernel[] {
    return this.#all;
  }

  /** Whether there is a kernel of a source. */
  has(source: KernelSource): boolean {
    return this.#placeOf(source).kernel !== null;
  }

  /** The kernel of a source, made by `make` when there is none yet. */
  get(source: KernelSource, make: (source: KernelSource) => Kernel): Kernel {
    const place = this.#placeOf(source);
    if (!place.kernel) {
      this.#all.push(place.kernel = make(source));
      this.sources.push(source);
    }
    return place.kernel;
  }

  #placeOf({ code, defines = none as NonNullable<KernelSource["defines"]> }: KernelSource): Place {
    let place = onward(this.#texts, code);
    for (const name in defines) place = onward(onward(place.next, name).next, defines[name]);
    return place;
  }
}

function onward<Key>(places: Map<Key, Place>, key: Key): Place {
  let place = places.get(key);
  if (!place) places.set(key, place = newPlace());
  return place;
}
