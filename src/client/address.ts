/** Where a server is. */
export interface Address {
  /** Such as `http://127.0.0.1:8000`. */
  readonly url: string;
  /** What the server was given in TANGO_TOKEN. */
  readonly token?: string;
}

/** The headers that say who asks. */
export const headersOf = ({ token }: Address): Record<string, string> =>
  token === undefined ? {} : { authorization: `Bearer ${token}` };

/** A request that the server has refused. */
export class Refused extends Error {
  override name = "Refused";

  /** @param status of the answer; 200 of a request that was taken and came to nothing */
  constructor(readonly status: number, message: string) {
    super(message);
  }
}

/** @throws Refused with what the server says, unless it has done what it was asked */
export async function requireDone(response: Response): Promise<Response> {
  if (response.ok) return response;
  const text = await response.text();
  let said: string | undefined;
  try {
    const { detail, error } = JSON.parse(text);
    said = detail ?? error?.message;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new Refused(response.status, said ?? text);
}
