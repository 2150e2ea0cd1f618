const names: Partial<Record<typeof Deno.build.os, string>> = {
  linux: "libc.so.6",
  darwin: "libSystem.B.dylib",
};

/** The file of the system's C library; null on a system where it is not known. */
export const systemLibrary: string | null = names[Deno.build.os] ?? null;
