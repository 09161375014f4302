import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { test } from 'node:test'
import { docxOf, pdfOf, pptxOf, xlsxOf, zipOf } from '#test/drive/documents.ts'
import { upload } from '#test/drive/drive.ts'
import { type Person, testServer } from '#test/server.ts'
import { PATIENCE_MS } from '#test/until.ts'

const put = async (person: Person, name: string, bytes: Buffer | string): Promise<string> =>
  (await upload(person, { workspace_id: person.workspaceId }, Buffer.from(bytes), name)).body.data.id

/** Polls for up to a minute. */
async function until<T>(ask: () => Promise<T>, enough: (answer: T) => boolean): Promise<T> {
  for (const end = Date.now() + PATIENCE_MS; ;) {
    const answer = await ask()
    if (enough(answer) || Date.now() > end) return answer
    await sleep(50)
  }
}

test('search and grep find words in every document type, and unreadable documents are listed with a reason', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const paragraph = '<w:p><w:r><w:t>The axolotl budget</w:t></w:r></w:p>'
  const row = '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1"><v>42</v></c></row>'
  const readable: Record<string, Buffer | string> = {
    'a.pdf': pdfOf(['Annual axolotl report']),
    'b.docx': await docxOf(paragraph),
    'c.xlsx': await xlsxOf({ Tanks: row }, ['axolotl tanks']),
    'd.pptx': await pptxOf(['Why an axolotl\nsmiles']),
    'e.html': '<!doctype html><title>Pond</title><p>An axolotl lives in this pond, all of its life.</p>',
    'f.csv': 'animal,legs\naxolotl,4\n',
    'g.md': '# Animals\n\n- axolotl\n',
    'h.txt': 'axolotl\n',
    'i.txt': Buffer.from('\ufeffaxolotl, wide', 'utf16le'),
    'j.txt': Buffer.from('axolotl caf\xe9', 'latin1'),
  }
  const ids = new Map<string, string>()
  for (const [name, bytes] of Object.entries(readable)) ids.set(name, await put(alice, name, bytes))
  // Long enough to be compressed: encrypted data stored uncompressed would be larger by its header.
  const locked = await zipOf({ 'word/document.xml': randomBytes(8_192).toString('hex') })
  // Sets the encryption flag in the local header and the central directory (APPNOTE 4.4.4).
  for (const mark of ['PK\x03\x04', 'PK\x01\x02']) {
    const at = locked.indexOf(mark, 0, 'latin1')
    locked.writeUInt16LE(1, at + (mark.endsWith('\x04') ? 6 : 8))
  }
  const unreadable: Record<string, [Buffer | string, string]> = {
    'n1.pdf': ['%PDF-1.7 nothing', 'damaged'],
    'n2.docx': [locked, 'encrypted'],
    'n3.bin': [Buffer.from([1, 0, 2]), 'binary'],
    'n4.xlsx': [await zipOf({ 'xl/workbook.xml': Buffer.alloc(20 << 20, 0x20) }), 'too_large'],
    'n5.txt': [Buffer.alloc((32 << 20) + 1, 'x'), 'too_large'],
  }
  for (const [name, [bytes]] of Object.entries(unreadable)) await put(alice, name, bytes)

  const foundHits = await until(
    async () => (await alice.get('/search?q=axolotl&limit=100')).body.data as { id: string }[],
    (hits) => hits.length === ids.size,
  )
  assert.deepEqual(foundHits.map(({ id }) => id).toSorted(), [...ids.values()].toSorted())
  const grep = await until(
    async () => (await alice.get('/drive/grep?pattern=axolotl&mode=count')).body,
    ({ skipped_files }) => skipped_files.every(({ reason }: { reason: string }) => reason !== 'not_indexed_yet'),
  )
  assert.deepEqual(
    grep.data.map(({ path, count }: { path: string; count: number }) => [path, count]),
    Object.keys(readable).map((path) => [path, 1]),
  )
  assert.deepEqual(
    grep.skipped_files.map(({ path, reason }: { path: string; reason: string }) => [path, reason]),
    Object.entries(unreadable).map(([path, [, reason]]) => [path, reason]),
  )
})
