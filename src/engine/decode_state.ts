import type { Gpu } from "../gpu/gpu.ts";
import type { Tensor } from "../gpu/tensor.ts";
import { noToken } from "../kernels/advance.ts";

/** One word per slot of everything decoding keeps on the GPU. S slots, P pages each. */
export interface HostDecodeState {
  /** [S] the token whose successor comes next */
  readonly tokens: Uint32Array;
  /** [S] its position */
  readonly positions: Uint32Array;
  /** [S] tokens still allowed; 0 when inactive */
  readonly remaining: Uint32Array;
  /** [S] keys of the random numbers */
  readonly sequenceIds: Uint32Array;
  /** [S, P] */
  readonly pageTable: Uint32Array;
  /** [S] cache row of the token's key */
  readonly keyRows: Uint32Array;
  /** [S] keys to attend to, the token's own included; 0 when inactive */
  readonly lengths: Uint32Array;
}

/** The decode state of a batch of slots on the GPU; decoding advances it without the host. */
export class DecodeState {
  readonly slots: number;
  readonly tokens: Tensor;
  readonly positions: Tensor;
  readonly remaining: Tensor;
  readonly sequenceIds: Tensor;
  readonly pageTable: Tensor;
  readonly keyRows: Tensor;
  readonly lengths: Tensor;

  constructor(gpu: Gpu, host: HostDecodeState) {
    const slots = host.tokens.length;
    const vector = (data: Uint32Array, label: string) => gpu.from(data, [slots], "u32", label);
    this.slots = slots;
    this.tokens = vector(host.tokens, "decode tokens");
    this.positions = vector(host.positions, "decode positions");
    this.remaining = vector(host.remaining, "decode remaining");
    this.sequenceIds = vector(host.sequenceIds, "decode sequence ids");
    const pages = host.pageTable.length / slots;
    this.pageTable = gpu.from(host.pageTable, [slots, pages], "u32", "page table");
    this.keyRows = vector(host.keyRows, "decode key rows");
    this.lengths = vector(host.lengths, "decode lengths");
  }

  /** A host state in which every slot is inactive. */
  static host(slots: number, pagesPerSlot: number): HostDecodeState {
    const vector = () => new Uint32Array(slots);
    return {
      tokens: vector(),
      positions: vector(),
      remaining: vector(),
      sequenceIds: vector(),
      pageTable: new Uint32Array(slots * pagesPerSlot),
      keyRows: vector().fill(noToken),
      lengths: vector(),
    };
  }
}
