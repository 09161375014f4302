import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { attacks } from '#test/hostile-documents.ts'
import { pdfOf } from '#test/documents.ts'
import { createDocumentReader } from './reader.ts'

/** One document may take so long and so much; the test's own are smaller, so that it ends soon on a busy machine. */
const TIME_MS = 4_000
const MEMORY_MB = 400
const reader = createDocumentReader({ timeMs: TIME_MS, memoryMb: MEMORY_MB })
after(() => reader[Symbol.asyncDispose]())
const small = (by: string) => reader.read(by, () => ({ kind: 'pdf', bytes: pdfOf(['Hello']) }))
before(() => small('warm'))

for (const [kind, ways] of Object.entries(attacks))
  for (const [way, make] of Object.entries(ways))
    test(`${kind}, ${way}: mallory sends three of it; each ends in its time, and bob’s small file is read meanwhile`, async () => {
      const bytes = await make()
      const began = performance.now()
      const hers = Array.from({ length: 3 }, () =>
        reader
          .read('mallory', () => ({ kind: kind as keyof typeof attacks, bytes }))
          .then(
            ({ text }) => ({ text, reason: null }),
            ({ name, reason }: { name: string; reason: string }) => ({ name, reason }),
          ),
      )
      await small('bob')
      const bobs = performance.now() - began
      for (const said of await Promise.all(hers)) {
        if (said.reason === null) assert.ok('text' in said && said.text.length <= 8_000_000)
        else assert.ok('name' in said && said.name === 'Unreadable' && said.reason !== 'busy', JSON.stringify(said))
      }
      const all = performance.now() - began
      assert.ok(all < 2 * (TIME_MS + 3_000), `three took ${Math.round(all)} ms`)
      // Two of hers are read at a time, and his needs no more than a third process.
      assert.ok(bobs < TIME_MS, `bob waited ${Math.round(bobs)} ms`)
    })
