// Thorough: run by the merge check, or by name.
import { after, test } from 'node:test'
import { fuzzPairs } from './fuzz-pairs.ts'

const world = await fuzzPairs()
after(() => world[Symbol.asyncDispose]())

for (const { title, check } of world.pairs) test(`random conversations, a few: ${title}`, () => check(2))

for (const { title, breaks } of world.pairs)
  test(`a truncated stream is never taken for a whole answer: ${title}`, async () => {
    for (const after of [4, 6]) await breaks(after)
  })
