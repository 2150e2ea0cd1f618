/** The name of this machine. */
export const { hostname } = Deno;

/** What runs it. */
export const system: typeof Deno.build.os = Deno.build.os;
