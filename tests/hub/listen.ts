/** Serves on a free port of this machine until it is closed. */
export function listen(
  handler: (request: Request) => Response,
): { readonly port: number; close(): Promise<void> } {
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {}, onError: () => new Response(null) },
    handler,
  );
  return { port: server.addr.port, close: () => server.shutdown() };
}
