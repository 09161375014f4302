import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { pdfOf, zipOf } from '#test/drive/documents.ts'
import { upload } from '#test/drive/drive.ts'
import { testServer } from '#test/server.ts'
import { countLines, eachLine } from './lines.ts'

test('a file is read by lines, from its end, and by pattern', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const put = async (bytes: Buffer, name: string): Promise<string> =>
    (await upload(alice, { workspace_id: alice.workspaceId, name }, bytes, name)).body.data.id
  const id = await put(Buffer.from(Array.from({ length: 30_000 }, (_, i) => `line ${i + 1} é\r\n`).join('')), 'a.txt')
  const read = async (query: string, of = id) => {
    const answer = await alice.get(`/drive/files/${of}/content?${query}`)
    assert.equal(answer.status, 200, answer.text)
    return answer.body.data
  }
  const numbers = (data: { lines: { number: number }[] }) => data.lines.map(({ number }) => number)
  const first = await read('offset=2&limit=2')
  assert.deepEqual(first.lines, [
    { number: 3, text: 'line 3 é', match: null },
    { number: 4, text: 'line 4 é', match: null },
  ])
  assert.deepEqual([first.total_lines, first.truncated, first.encoding], [30_000, true, 'utf-8'])
  const end = await read('tail=2')
  assert.deepEqual(
    end.lines.map(({ text }: { text: string }) => text),
    ['line 29999 é', 'line 30000 é'],
  )
  assert.deepEqual([numbers(end), end.truncated], [[29_999, 30_000], false])
  const page = await read(`pattern=${encodeURIComponent('^LINE 2999\\d É$')}&context=1&case=insensitive&limit=2`)
  assert.deepEqual(
    page.lines.map(({ number, match }: { number: number; match: boolean }) => [number, match]),
    [
      [29_989, false],
      [29_990, true],
      [29_991, true],
      [29_992, true],
    ],
  )
  assert.equal(page.truncated, true)
  assert.deepEqual(numbers(await read(`pattern=29999&offset=0`)), [29_999])

  const utf16 = await put(Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('ä\nö\r\nü', 'utf16le')]), 'u.txt')
  const wide = await read('tail=2', utf16)
  assert.deepEqual(
    [wide.encoding, wide.total_lines, wide.lines.map(({ text }: { text: string }) => text)],
    ['utf-16le', 3, ['ö', 'ü']],
  )
  const latin = await read('', await put(Buffer.from('caf\xe9\n', 'latin1'), 'l.txt'))
  assert.deepEqual([latin.encoding, latin.lines[0].text], ['windows-1252', 'café'])
  const empty = await read('', await put(Buffer.alloc(0), 'empty.txt'))
  assert.deepEqual([empty.lines, empty.total_lines, empty.truncated], [[], 0, false])
  const long = await read('', await put(Buffer.from(`${'é'.repeat(50_000)}\nb`), 'long.txt'))
  assert.deepEqual([long.lines[0].text.length, long.lines[1].text, long.truncated], [32_768, 'b', true])

  const binary = await alice.get(`/drive/files/${await put(Buffer.from([1, 0, 2]), 'b.bin')}/content`)
  assert.deepEqual([binary.status, binary.body.error.type], [415, 'unsupported_media_type'])
  for (const pattern of ['(', '(?=a)', 'a{1001}']) {
    const refused = await alice.get(`/drive/files/${id}/content?pattern=${encodeURIComponent(pattern)}`)
    assert.deepEqual([refused.status, refused.body.error.code], [400, 'invalid_pattern'], pattern)
  }
  const hostile = await put(Buffer.from(`${'a'.repeat(50_000)}!`), 'hostile.txt')
  // Matched by backtracking, this would outlast the test.
  assert.deepEqual((await read(`pattern=${encodeURIComponent('(a+)+$')}`, hostile)).lines, [])
})

test('a document has the same lines when read and grepped, and an unreadable one reports why', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const put = async (bytes: Buffer, name: string): Promise<string> =>
    (await upload(alice, { workspace_id: alice.workspaceId }, bytes, name)).body.data.id
  const lines = Array.from({ length: 40 }, (_, i) => `<a:p><a:r><a:t>Point ${i + 1}</a:t></a:r></a:p>`).join('')
  const slides = await put(
    await zipOf({ 'ppt/slides/slide1.xml': `<p:sld xmlns:p="p" xmlns:a="a"><p:txBody>${lines}</p:txBody></p:sld>` }),
    'talk.pptx',
  )
  // Read immediately, before it is indexed.
  const read = async (id: string, query: string) => (await alice.get(`/drive/files/${id}/content?${query}`)).body.data
  const page = await read(slides, 'offset=1&limit=2')
  assert.deepEqual(
    [page.lines.map(({ text }: { text: string }) => text), page.total_lines, page.truncated, page.extracted],
    [['Point 1', 'Point 2'], 41, true, true],
  )
  const [found] = (await read(slides, 'pattern=Point%2039')).lines
  const [grepped] = (await alice.get('/drive/grep?pattern=Point%2039')).body.data
  assert.deepEqual([grepped.file_id, grepped.line, grepped.text], [slides, found.number, found.text])
  assert.equal((await read(slides, 'tail=1')).lines[0].text, 'Point 40')
  const pdf = await read(await put(pdfOf(['First page', 'Second page']), 'a.pdf'), 'pattern=Second')
  assert.deepEqual([pdf.lines[0].text, pdf.extracted], ['Second page', true])

  // A scan has no text, and both endpoints report that.
  const scan = await put(pdfOf(['']), 'scan.pdf')
  const part = await put(pdfOf(['A page', '']), 'part.pdf')
  const empty = await read(scan, '')
  assert.deepEqual([empty.lines, empty.extracted, empty.reason], [[], true, 'no_text'])
  const half = await read(part, '')
  assert.deepEqual([half.lines[0].text, half.reason], ['A page', 'incomplete'])
  const { data: rows, skipped_files: skipped } = (await alice.get('/drive/grep?pattern=A%20page')).body
  assert.deepEqual(
    rows.map(({ file_id }: { file_id: string }) => file_id),
    [part],
  )
  assert.deepEqual(
    new Map(skipped.map(({ file_id, reason }: { file_id: string; reason: string }) => [file_id, reason])),
    new Map([
      [part, 'incomplete'],
      [scan, 'no_text'],
    ]),
  )

  const broken = await alice.get(`/drive/files/${await put(Buffer.from('%PDF-1.7\n\0\x01'), 'b.pdf')}/content`)
  assert.deepEqual([broken.status, broken.body.error.details.reason], [415, 'damaged'], broken.text)
  const plain = await read(await put(Buffer.from('no document at all\n'), 'c.docx'), '')
  assert.deepEqual([plain.lines[0].text, plain.extracted], ['no document at all', false])
})

test('lines are the same however the bytes are split', async () => {
  async function* cut(bytes: Buffer, size: number) {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
  }
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom('a', 'é', '\n', '\r\n', '\r', '😀', 'long line'), { maxLength: 40 }),
      fc.integer({ min: 1, max: 9 }),
      async (pieces, size) => {
        const text = pieces.join('')
        const bytes = Buffer.from(text)
        const expected =
          text === ''
            ? []
            : text
                .replace(/\n$/, '')
                .split('\n')
                .map((line, i, all) =>
                  i < all.length - 1 || text.endsWith('\n') ? line.replace(/\r$/, '') : line.replace(/\r$/, ''),
                )
        const lines: string[] = []
        const total = await eachLine(
          cut(bytes, size),
          'utf-8',
          () => true,
          ({ text }) => lines.push(text) > 0,
        )
        assert.deepEqual(lines, expected)
        assert.equal(total, expected.length)
        assert.equal((await countLines(cut(bytes, size))).total, expected.length)
      },
    ),
  )
})

test('a hostile pattern delays no other caller', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const at = { workspace_id: alice.workspaceId }
  const long = `${'a'.repeat(60_000)}\n`.repeat(4)
  const file = (await alice.post('/drive/files', { ...at, name: 'a.txt', content: long })).body.data
  const page = (pattern: string) => alice.get(`/drive/files/${file.id}/content?pattern=${encodeURIComponent(pattern)}`)
  // Measures CPU time per turn of the event loop, since the machine is shared.
  let longest = 0
  let last = process.threadCpuUsage()
  const clock = setInterval(() => {
    const { user, system } = process.threadCpuUsage(last)
    longest = Math.max(longest, (user + system) / 1_000)
    last = process.threadCpuUsage()
  }, 10)
  try {
    const huge = await page(`${'(a?){1000}'.repeat(90)}[xy]`)
    assert.deepEqual([huge.status, huge.body.error.code], [400, 'invalid_pattern'], huge.text)
    const slow = await page('(a?){400}[xy]')
    assert.deepEqual([slow.status, slow.body.data.lines, slow.body.data.truncated], [200, [], false], slow.text)
    const plain = await page('a{3}$')
    assert.deepEqual([plain.body.data.lines.length, plain.body.data.truncated], [4, false])
  } finally {
    clearInterval(clock)
  }
  assert.ok(longest < 3_000, `${longest} ms`)
})
