const libc = Deno.build.os === "darwin" ? "libSystem.B.dylib" : "libc.so.6";
const loader = {
  dlopen: { parameters: ["buffer", "i32"], result: "pointer" },
  dlsym: { parameters: ["pointer", "buffer"], result: "pointer" },
  dlerror: { parameters: [], result: "pointer" },
} as const;
const now = 2;
const global = Deno.build.os === "darwin" ? 8 : 0x100;

const open = () => Deno.dlopen(libc, loader);
let opened: ReturnType<typeof open> | null = null;

/**
 * A library as the system's loader sees it. It is opened for the whole process: parts that Open MPI loads later look
 * for its symbols there, which those of `Deno.dlopen` are not.
 */
export class CLibrary {
  private constructor(
    /** Path of the library, or a name that the loader looks for, as given. */
    readonly path: string,
    private readonly handle: Deno.PointerValue,
  ) {}

  /** Opens a library, or returns the loader's words why it cannot. */
  static open(path: string): CLibrary | string {
    const { symbols } = opened ??= open();
    const handle = symbols.dlopen(text(path), now | global);
    if (handle !== null) return new CLibrary(path, handle);
    const problem = symbols.dlerror();
    return problem === null ? "unknown error" : new Deno.UnsafePointerView(problem).getCString();
  }

  /** Address of a variable of the library; null when it has none of that name. */
  address(name: string): bigint | null {
    const { symbols } = opened ??= open();
    const pointer = symbols.dlsym(this.handle, text(name));
    return pointer === null ? null : Deno.UnsafePointer.value(pointer);
  }
}

const text = (value: string) => new TextEncoder().encode(`${value}\0`);
