/** What a process that the server starts finds in its environment: all but the server's own secret. */
export function childEnvironment(): Record<string, string> {
  const { TANGO_TOKEN: _secret, ...env } = Deno.env.toObject();
  return env;
}
