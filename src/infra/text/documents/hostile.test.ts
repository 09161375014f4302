// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { attacks } from '#test/drive/hostile-documents.ts'
import { pdfOf } from '#test/drive/documents.ts'
import { until } from '#test/until.ts'
import { Unreadable } from './document.ts'
import { createDocumentReader } from './reader.ts'

/** Lower limits than in production, to finish sooner. */
const TIME_MS = 8_000
const MEMORY_MB = 400
const reader = createDocumentReader({ timeMs: TIME_MS, memoryMb: MEMORY_MB })
after(() => reader[Symbol.asyncDispose]())
const small = (by: string) => reader.read(by, () => ({ kind: 'pdf', bytes: pdfOf(['Hello']) }))
before(() =>
  until(
    () => small('warm').then(({ text }) => text, String),
    (text) => text.includes('Hello'),
  ),
)

for (const [kind, ways] of Object.entries(attacks) as [keyof typeof attacks, (typeof attacks)['pdf']][])
  test(`${kind}: slow and large files of one account each end, and another account’s small file is read meanwhile`, async (t) => {
    const files = await Promise.all(Object.entries(ways).map(async ([way, make]) => ({ way, bytes: await make() })))
    // Two of hers are read at a time, and his needs just a third process.
    const bobs: ReturnType<typeof small>[] = []
    const ends = files.map(async ({ way, bytes }) => {
      const load = () => {
        bobs.push(small('bob'))
        return { kind, bytes }
      }
      const outcome = await reader.read('mallory', load).catch((error: unknown) => error)
      return { way, said: outcome }
    })
    for (const { way, said: outcome } of await Promise.all(ends)) {
      t.diagnostic(`${way}: ${outcome instanceof Unreadable ? outcome.reason : 'read'}`)
      if (outcome instanceof Unreadable) assert.notEqual(outcome.reason, 'busy', way)
      else assert.ok((outcome as { text: string }).text.length <= 8_000_000, way)
    }
    assert.equal(bobs.length, files.length)
    for (const { text } of await Promise.all(bobs)) assert.match(text, /Hello/)
  })
