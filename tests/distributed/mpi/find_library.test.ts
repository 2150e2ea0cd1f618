import assert from "node:assert/strict";

const PROGRAM = `
import { openCommunicator } from "${
  import.meta.resolve("../../../src/distributed/open_communicator.ts")
}";
try {
  await openCommunicator();
} catch (error) {
  console.log(error.name + ": " + error.message);
}
`;
const asRank = { OMPI_COMM_WORLD_RANK: "1", OMPI_COMM_WORLD_SIZE: "4" };

async function open(env: Record<string, string>): Promise<string> {
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["eval", PROGRAM], env })
    .output();
  return new TextDecoder().decode(stdout);
}

Deno.test("a rank whose library cannot be opened says which launcher, why and what to do", async () => {
  const path = "/nowhere/libmpi.so.40";
  assert.match(
    await open({ ...asRank, TANGO_MPI_LIBRARY: path }),
    /^UserError: This process was started as rank 1 of 4 by Open MPI's mpirun, but .* cannot be opened: \/nowhere\/libmpi.so.40: .*No such file .*TANGO_MPI_LIBRARY=/,
  );
});

Deno.test("a library that is no MPI is refused by its name", async () => {
  const found = await open({ ...asRank, TANGO_MPI_LIBRARY: "libc.so.6" });
  assert.match(found, /^UserError: .* cannot be opened: libc\.so\.6 is no MPI library/);
});

const debianMpich = "/usr/lib/x86_64-linux-gnu/libmpich.so.12";
const isThere = [...Deno.readDirSync("/usr/lib")].some(({ name }) => name === "x86_64-linux-gnu") &&
  [...Deno.readDirSync("/usr/lib/x86_64-linux-gnu")].some(({ name }) => name === "libmpich.so.12");

Deno.test({
  name: "a library that does not belong to the launcher finds itself alone, which is said" +
    (isThere ? "" : " (not here; to test it: apt install mpich)"),
  ignore: !isThere,
  fn: async () => {
    const found = await open({ ...asRank, TANGO_MPI_LIBRARY: debianMpich });
    assert.match(
      found,
      /^UserError: Open MPI's mpirun started this process as rank 1 of 4, but MPICH 4\.\S+ \(\S+\) sees 1: they do not belong together\./,
    );
  },
});
