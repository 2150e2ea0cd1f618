/** A server on this machine that plays the Hugging Face Hub. */

import { createHash } from "node:crypto";
import { listen } from "./listen.ts";

/** A request that it got. */
export interface SeenRequest {
  readonly path: string;
  /** The name that the server was called by. */
  readonly hostname: string;
  readonly range: string | null;
  readonly ifRange: string | null;
  readonly authorization: string | null;
}

/** Answers a request for a file; null: the ordinary answer. */
export type Misbehaviour = (request: Request, content: Uint8Array) => Response | null;

export const COMMIT = "0123456789abcdef0123456789abcdef01234567";

/** One repository, its files in memory. End it with `await using`. */
export class FakeHub implements AsyncDisposable {
  readonly seen: SeenRequest[] = [];
  readonly files = new Map<string, Uint8Array<ArrayBuffer>>();
  /** Hashes that it lists instead of the right ones. */
  readonly wrongHashes = new Map<string, string>();
  commit = COMMIT;
  /** Called for each request, before the ordinary answer. */
  intercept: (request: Request) => Response | null = () => null;
  /** Called for each request of a file. */
  misbehave: Misbehaviour = () => null;
  /** Whether it honours ranges. */
  hasRanges = true;
  private readonly server: ReturnType<typeof listen>;

  constructor(
    readonly id: string,
    files: Readonly<Record<string, string | Uint8Array<ArrayBuffer>>>,
    private readonly kind: "model" | "dataset" = "model",
  ) {
    for (const [path, content] of Object.entries(files)) this.put(path, content);
    this.server = listen((request) => this.answer(request));
  }

  /** What HF_ENDPOINT is to be. */
  get endpoint(): string {
    return `http://127.0.0.1:${this.server.port}`;
  }

  /** Its address under another name, as a content server has one. */
  get otherHost(): string {
    return `http://localhost:${this.server.port}`;
  }

  put(path: string, content: string | Uint8Array<ArrayBuffer>): void {
    this.files.set(path, typeof content === "string" ? new TextEncoder().encode(content) : content);
  }

  /** Paths of files that were asked for, in order. */
  get asked(): string[] {
    return this.seen.map(({ path }) => path).filter((path) => path.includes("/resolve/"))
      .map((path) => path.split(`/resolve/${this.commit}/`)[1]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.close();
  }

  private answer(request: Request): Response {
    const { pathname, hostname } = new URL(request.url);
    const path = decodeURIComponent(pathname);
    const header = (name: string) => request.headers.get(name);
    this.seen.push({
      path,
      hostname,
      range: header("range"),
      ifRange: header("if-range"),
      authorization: header("authorization"),
    });
    const intercepted = this.intercept(request);
    if (intercepted !== null) return intercepted;
    if (path === `/api/${this.kind}s/${this.id}/revision/main`) return Response.json(this.list());
    const page = this.kind === "dataset" ? `/datasets/${this.id}` : `/${this.id}`;
    const content = this.files.get(
      path.replace(/^\/cdn/, "").replace(
        `${page}/resolve/${this.commit}/`,
        "",
      ),
    );
    if (content === undefined) {
      const code = path.startsWith("/api/") ? "RepoNotFound" : "EntryNotFound";
      return new Response("not found", { status: 404, headers: { "x-error-code": code } });
    }
    return this.misbehave(request, content) ?? serve(request, content, this.hasRanges);
  }

  private list(): unknown {
    const siblings = [...this.files].map(([rfilename, content]) => {
      const size = content.length;
      const blobId = createHash("sha1").update(`blob ${size}\0`).update(content).digest("hex");
      const sha256 = this.wrongHashes.get(rfilename) ?? sha256Of(content);
      const isLarge = /\.(safetensors|gguf|parquet)$/.test(rfilename);
      return {
        rfilename,
        size,
        blobId,
        ...(isLarge ? { lfs: { size, sha256, pointerSize: 130 } } : {}),
      };
    });
    return { id: this.id, sha: this.commit, siblings };
  }
}

/** SHA-256 in hexadecimal. */
export function sha256Of(content: Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

/** The content, or the rest of it when that is asked for and the ETag fits. */
export function serve(
  request: Request,
  content: Uint8Array<ArrayBuffer>,
  hasRanges: boolean,
): Response {
  const etag = `"${sha256Of(content)}"`;
  const begin = /^bytes=(\d+)-$/.exec(request.headers.get("range") ?? "")?.[1];
  const condition = request.headers.get("if-range");
  if (!hasRanges || begin === undefined || condition !== null && condition !== etag) {
    return new Response(content, { headers: { etag } });
  }
  const range = `bytes ${begin}-${content.length - 1}/${content.length}`;
  return new Response(content.slice(Number(begin)), {
    status: 206,
    headers: { etag, "content-range": range },
  });
}
