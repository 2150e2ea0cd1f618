import { UserError } from "../base/user_error.ts";
import { hashBytes } from "./checksum.ts";
import { type HubClient, HubRefusal, type HubResponse } from "./hub_client.ts";
import { type Listing, parseListing, type WantedFile } from "./listing.ts";
import { describeRefusal } from "./refusal.ts";
import { filePath, listingPath, type Repository } from "./repository.ts";
import { type Patience, withRetries } from "./retry.ts";

/** A repository of the Hub, read over the network. */
export class HubRepository {
  constructor(
    readonly repository: Repository,
    private readonly client: HubClient,
    readonly patience: Patience,
  ) {}

  /**
   * Lists the files of a revision.
   *
   * @param revision branch, tag or commit
   * @throws UserError when there is no such repository or revision, or it may not be read
   */
  async list(revision: string): Promise<Listing> {
    const { access } = this.client;
    const { id } = this.repository;
    const bytes = await withRetries(`The list of ${id}`, this.patience, async () => {
      const path = listingPath(this.repository, revision);
      return await readAll(await this.ask(path, {}, { revision }));
    });
    let json: unknown;
    try {
      json = JSON.parse(new TextDecoder().decode(bytes));
    } catch {
      throw new UserError(
        `${access.endpoint} did not answer in JSON when asked for ${id}. Is HF_ENDPOINT right?`,
      );
    }
    return parseListing(json, this.repository, access.endpoint);
  }

  /**
   * Begins to fetch a file.
   *
   * @throws TemporaryFailure when it may succeed later
   * @throws UserError when it may not be read
   */
  async open(
    commit: string,
    path: string,
    headers: Readonly<Record<string, string>>,
  ): Promise<HubResponse> {
    return await this.ask(filePath(this.repository, commit, path), headers, { file: path });
  }

  /**
   * Reads a small text file without keeping it.
   *
   * @throws UserError when it cannot be read or is not what the list says
   */
  async readText(commit: string, file: WantedFile): Promise<string> {
    const { path, checksum } = file;
    const what = `${path} of ${this.repository.id}`;
    const bytes = await withRetries(
      what,
      this.patience,
      async () => await readAll(await this.open(commit, path, {})),
    );
    if (hashBytes(checksum.algorithm, bytes) !== checksum.hex) {
      throw new UserError(`${what} does not have the hash that the Hub lists. Run it again.`);
    }
    return new TextDecoder().decode(bytes);
  }

  private async ask(
    path: string,
    headers: Readonly<Record<string, string>>,
    asked: { readonly revision: string } | { readonly file: string },
  ): Promise<HubResponse> {
    try {
      return await this.client.open(path, headers);
    } catch (error) {
      if (!(error instanceof HubRefusal)) throw error;
      throw describeRefusal(error, this.client.access, this.repository, asked);
    }
  }
}

async function readAll(response: HubResponse): Promise<Uint8Array> {
  try {
    const pieces: Uint8Array<ArrayBuffer>[] = [];
    for await (const piece of response.body) pieces.push(new Uint8Array(piece));
    return new Uint8Array(await new Blob(pieces).arrayBuffer());
  } finally {
    await response.close();
  }
}
