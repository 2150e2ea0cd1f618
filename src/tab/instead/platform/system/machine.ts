export const hostname = () => "browser";

/** Paths and errors of the file system in memory are Linux's. */
export const system = "linux" as typeof Deno.build.os;
