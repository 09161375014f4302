// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { attacks } from '#test/drive/hostile-documents.ts'
import { pdfOf } from '#test/drive/documents.ts'
import { Unreadable } from './document.ts'
import { createDocumentReader } from './reader.ts'

/** One document may take so long and so much: less than in the product, so that the test ends soon. */
const TIME_MS = 3_000
const MEMORY_MB = 400
/** For a small file, while all else is busy; on a machine that is busy with others, so many times what it takes alone. */
const SMALL_MS = 4_000
const SMALL_TIMES = 8
const reader = createDocumentReader({ timeMs: TIME_MS, memoryMb: MEMORY_MB })
after(() => reader[Symbol.asyncDispose]())
const small = (by: string) => reader.read(by, () => ({ kind: 'pdf', bytes: pdfOf(['Hello']) }))
before(() => small('warm'))

for (const [kind, ways] of Object.entries(attacks) as [keyof typeof attacks, (typeof attacks)['pdf']][])
  test(`${kind}: mallory sends all that is slow or large of it at once; each ends in its time, and bob’s small file is read meanwhile`, async (t) => {
    const files = await Promise.all(Object.entries(ways).map(async ([way, make]) => ({ way, bytes: await make() })))
    const from = performance.now()
    await small('bob')
    const soon = Math.max(SMALL_MS, SMALL_TIMES * (performance.now() - from))
    // Two of hers are read at a time, and his needs no more than a third process.
    const bobs: Promise<number>[] = []
    const ends = files.map(async ({ way, bytes }) => {
      let began = NaN
      const given = () => {
        began = performance.now()
        bobs.push(small('bob').then(() => performance.now() - began))
        return { kind, bytes }
      }
      const said = await reader.read('mallory', given).catch((error: unknown) => error)
      return { way, said, ms: performance.now() - began }
    })
    for (const { way, said, ms } of await Promise.all(ends)) {
      t.diagnostic(`${way}: ${said instanceof Unreadable ? said.reason : 'read'} in ${Math.round(ms)} ms`)
      if (said instanceof Unreadable) assert.notEqual(said.reason, 'busy', way)
      else assert.ok((said as { text: string }).text.length <= 8_000_000, way)
      assert.ok(ms < TIME_MS + 3_000, `${way} took ${Math.round(ms)} ms`)
    }
    assert.equal(bobs.length, files.length)
    for (const ms of await Promise.all(bobs)) assert.ok(ms < soon, `bob waited ${Math.round(ms)} ms`)
  })
