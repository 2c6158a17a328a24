// What one access asks of memory: sectors of global memory, wavefronts of shared memory, spaces behind generic addresses.

import assert from "node:assert/strict";
import { test } from "node:test";
import { banksOf, lanesOf, resolved, sectorsOf } from "../../ptxlab/lab/static/access.js";

/** An access of the lanes of `mask` to 32 addresses. */
const access = (size, place, mask = 0xffffffff, space = "global") => ({
  size,
  mask,
  space,
  addresses: BigUint64Array.from({ length: 32 }, (_, lane) => BigInt(place(lane))),
});

test("a coalesced load needs as many sectors as its bytes fill, a strided one a sector for each lane", () => {
  const found = [4, 64].map((stride) => sectorsOf(access(4, (lane) => stride * lane)));
  assert.deepEqual(
    found.map(({ sectors, ideal }) => [sectors.size, ideal]),
    [
      [4, 4],
      [32, 4],
    ],
  );
  assert.equal(sectorsOf(access(4, (lane) => 30 + 32 * lane, 1)).sectors.size, 2); // across the edge of a sector
});

test("lanes that access different words of one bank wait for each other", () => {
  const wavefronts = (size, place) => banksOf(access(size, place), true).wavefronts;
  assert.equal(
    wavefronts(4, (lane) => 4 * lane),
    1,
  );
  assert.equal(
    wavefronts(4, (lane) => 128 * lane),
    32,
  );
  assert.equal(
    wavefronts(4, () => 64),
    1,
  ); // the same word, for all
  assert.equal(
    wavefronts(16, (lane) => 16 * lane),
    4,
  );
});

test("a generic access is one for each space that its lanes reach", () => {
  const windows = { shared: 0x1000, local: 0x2000, param: 0x3000, size: 0x1000 };
  const parts = resolved(
    access(4, (lane) => (lane < 8 ? 0x1010 : 0x9000), 0xffff, "generic"),
    windows,
  );
  assert.deepEqual(
    parts.map(({ space, mask, addresses }) => [space, lanesOf(mask).length, addresses[lanesOf(mask)[0]]]),
    [
      ["shared", 8, 0x10n],
      ["global", 8, 0x9000n],
    ],
  );
});
