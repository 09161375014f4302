import { after, test } from 'node:test'
import { fuzzPairs } from './fuzz-pairs.ts'

const world = await fuzzPairs()
after(() => world[Symbol.asyncDispose]())

for (const { title, check } of world.pairs) test(`random conversations, many: ${title}`, () => check(400))
