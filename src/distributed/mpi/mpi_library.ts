import type { CLibrary } from "./c_library.ts";
import { type Handles, handlesOf } from "./handles.ts";

/** The library's own words about a call that failed. */
export class MpiError extends Error {
  override name = "MpiError";
}

/** A message on its way. Keep it, and so its bytes, until it is done: the library writes into both. */
export interface Request {
  readonly bytes: Uint8Array;
  readonly request: Uint8Array;
}

/**
 * The calls of MPI that the communicator needs, none of which waits for another rank but `init` and `finalize`. All of
 * them throw `MpiError` when the library reports an error.
 */
export class MpiLibrary {
  readonly #symbols: Symbols;
  readonly #handles: Handles;
  readonly #flag = new Int32Array(1);
  /** Room for a status, as large as that of any library. */
  readonly #status = new Uint8Array(64);
  /** Path of the library. */
  readonly path: string;
  /** Name and version of the library, such as `Open MPI v4.1.4`. */
  readonly version: string;

  /** Returns null when the library does not have what MPI has. */
  static open(library: CLibrary): MpiLibrary | null {
    if (library.address("MPI_Irecv") === null) return null;
    return new MpiLibrary(library, handlesOf(library));
  }

  private constructor(library: CLibrary, handles: Handles) {
    this.path = library.path;
    this.#handles = handles;
    this.#symbols = Deno.dlopen(library.path, symbolsFor(handles.type)).symbols as Symbols;
    const version = textOf((text, length) => this.#symbols.MPI_Get_library_version(text, length));
    this.version = version.split(/[\n,]/)[0].replace(/( Version:)?\s+/g, " ").trim();
  }

  /** Joins the ranks that were started together; errors are returned from here on. */
  init(): { rank: number; size: number } {
    const { communicatorWorld, errorsReturn, threadFunneled } = this.#handles;
    this.#check(this.#symbols.MPI_Init_thread(null, null, threadFunneled, this.#flag));
    this.#check(this.#symbols.MPI_Comm_set_errhandler(communicatorWorld, errorsReturn));
    const number = new Int32Array(1);
    this.#check(this.#symbols.MPI_Comm_rank(communicatorWorld, number));
    const rank = number[0];
    this.#check(this.#symbols.MPI_Comm_size(communicatorWorld, number));
    return { rank, size: number[0] };
  }

  /** Leaves the other ranks; call it when all are about to. */
  finalize(): void {
    this.#check(this.#symbols.MPI_Finalize());
  }

  /** Ends all ranks, this one too, with an exit code. */
  abort(code: number): void {
    this.#symbols.MPI_Abort(this.#handles.communicatorWorld, code);
  }

  /** Begins to send bytes, below 2³¹ of them. */
  send(bytes: Uint8Array, to: number, tag: number): Request {
    const { communicatorWorld, byte } = this.#handles;
    const request = new Uint8Array(8);
    this.#check(
      this.#symbols.MPI_Isend(bytes, bytes.length, byte, to, tag, communicatorWorld, request),
    );
    return { bytes, request };
  }

  /** Begins to receive at most as many bytes as there is room for. */
  receive(bytes: Uint8Array, from: number, tag: number): Request {
    const { communicatorWorld, byte } = this.#handles;
    const request = new Uint8Array(8);
    this.#check(
      this.#symbols.MPI_Irecv(bytes, bytes.length, byte, from, tag, communicatorWorld, request),
    );
    return { bytes, request };
  }

  /** Whether the message is through; lets the library do its part of the transfers in any case. */
  isDone({ request }: Request): boolean {
    this.#check(this.#symbols.MPI_Test(request, this.#flag, this.#status));
    return this.#flag[0] !== 0;
  }

  /** Bytes of the message that `isDone` has just found received. */
  receivedBytes(): number {
    const count = new Int32Array(1);
    this.#check(this.#symbols.MPI_Get_count(this.#status, this.#handles.byte, count));
    return count[0];
  }

  #check(code: number): void {
    if (code === 0) return;
    const words = textOf((text, length) => this.#symbols.MPI_Error_string(code, text, length));
    throw new MpiError(words.replace(/\s+/g, " ").trim());
  }
}

/** Text that a call writes into a buffer and tells the length of. */
function textOf(call: (text: Uint8Array<ArrayBuffer>, length: Int32Array<ArrayBuffer>) => number) {
  const text = new Uint8Array(16384), length = new Int32Array(1);
  if (call(text, length) !== 0) return "an error without words";
  return new TextDecoder().decode(text.subarray(0, length[0])).replace(/\0.*$/s, "");
}

type Symbols = Deno.DynamicLibrary<ReturnType<typeof symbolsFor>>["symbols"];

/** @param handle type of a handle that is passed by value */
const symbolsFor = (handle: Handles["type"]) => ({
  MPI_Get_library_version: { parameters: ["buffer", "buffer"], result: "i32" },
  MPI_Error_string: { parameters: ["i32", "buffer", "buffer"], result: "i32" },
  MPI_Init_thread: { parameters: ["pointer", "pointer", "i32", "buffer"], result: "i32" },
  MPI_Finalize: { parameters: [], result: "i32" },
  MPI_Abort: { parameters: [handle, "i32"], result: "i32" },
  MPI_Comm_set_errhandler: { parameters: [handle, handle], result: "i32" },
  MPI_Comm_rank: { parameters: [handle, "buffer"], result: "i32" },
  MPI_Comm_size: { parameters: [handle, "buffer"], result: "i32" },
  MPI_Isend: {
    parameters: ["buffer", "i32", handle, "i32", "i32", handle, "buffer"],
    result: "i32",
  },
  MPI_Irecv: {
    parameters: ["buffer", "i32", handle, "i32", "i32", handle, "buffer"],
    result: "i32",
  },
  MPI_Test: { parameters: ["buffer", "buffer", "buffer"], result: "i32" },
  MPI_Get_count: { parameters: ["buffer", handle, "buffer"], result: "i32" },
} as const);
