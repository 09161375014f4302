import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { unzipped } from '#test/drive/unzipped.ts'
import { type Answer, type Person, type TestServer, testServer } from '#test/server.ts'

let server: TestServer
let alice: Person
before(async () => {
  server = await testServer({ environment: { UK_LIMIT_WRITES: '0' } })
  alice = await server.person('Alice')
})
after(() => server[Symbol.asyncDispose]())

const NAMES = [
  'plan "B" 50%.txt',
  'notes\\draft.txt',
  'C:\\Users\\me\\plan.txt',
  '100%25 %2F %zz %.txt',
  "it's; filename=x.txt",
  'a=b;c, d (1) [2] {3} <4> #5 &6 +7 ~8 `9`.txt',
  'Grüße 请 日本語 한국어 😀 👨‍👩‍👧‍👦.txt',
  ' leading and trailing .txt ',
  '.hidden',
  'no ending',
  'x'.repeat(251) + '.txt',
  '请'.repeat(83) + '.md',
  'ends with a backslash\\',
  'two\\\\backslashes.txt',
  'a backslash before a quote\\"b".txt',
  '"quoted"',
  'dots and spaces. . .',
  'CON.txt',
  'why? <a|b>: *.txt',
  'mark\u200fs \u200b.txt',
  'İstanbul ﬁle ½.txt',
]
const base64 = (words: string): string => Buffer.from(words).toString('base64')

/** Each route that stores a file, with its name as the usual clients send it. */
const routes: Readonly<Record<string, (name: string, folder: string) => Promise<Answer>>> = {
  form: async (name, folder) => {
    const body = new FormData()
    body.append('parent_id', folder)
    body.append('file', new Blob(['x']), name)
    const response = await fetch(`${server.origin}/v1/drive/files`, { method: 'POST', headers: alice.headers, body })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, body: JSON.parse(text) }
  },
  JSON: (name, folder) => alice.post('/drive/files', { parent_id: folder, name, content: 'x' }),
  tus: async (name, folder) => {
    const tus = { 'tus-resumable': '1.0.0' }
    const response = await alice.post('/drive/uploads', undefined, {
      ...tus,
      'upload-length': '1',
      'upload-metadata': `parent_id ${base64(folder)},filename ${base64(name)}`,
    })
    if (response.status !== 201) return response
    const path = new URL(response.headers.get('location')!, server.origin).pathname
    return alice.request('PATCH', path, Buffer.from('x'), {
      ...tus,
      'upload-offset': '0',
      'content-type': 'application/offset+octet-stream',
    })
  },
}

/** A form as a client writes it byte by byte. */
async function raw(disposition: string | Buffer, folder: string): Promise<Answer> {
  const body = Buffer.concat([
    Buffer.from(`--cut\r\nContent-Disposition: form-data; name="parent_id"\r\n\r\n${folder}\r\n--cut\r\n`),
    Buffer.from('Content-Disposition: form-data; name="file"; '),
    Buffer.from(disposition),
    Buffer.from('\r\nContent-Type: text/plain\r\n\r\nx\r\n--cut--\r\n'),
  ])
  return alice.request('POST', '/drive/files', body, { 'content-type': 'multipart/form-data; boundary=cut' })
}

/** How clients write file names: browsers, old curl, RFC 8187, and without quotes. */
const writers: Readonly<Record<string, (name: string) => string | null>> = {
  'as browsers do': (name) => `filename="${name.replaceAll('"', '%22')}"`,
  'with escaped quotes': (name) =>
    name.includes('"') ? `filename="${name.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"` : null,
  'with plain quotes': (name) => (/\\"|";/.test(name) ? null : `filename="${name}"`),
  'by RFC 8187': (name) =>
    `filename="other.txt"; filename*=UTF-8''${encodeURIComponent(name).replaceAll(/['()*]/g, (one) => `%${one.charCodeAt(0).toString(16)}`)}`,
  'by RFC 8187 alone': (name) =>
    `filename*=utf-8'en'${encodeURIComponent(name).replaceAll("'", '%27').replaceAll('*', '%2a')}`,
}

for (const [how, write] of Object.entries(writers))
  test(`the name of a form written ${how} is kept`, async () => {
    const folder = (await alice.post('/drive/files/folders', { workspace_id: alice.workspaceId, name: how })).body.data
      .id
    for (const name of NAMES) {
      const disposition = write(name)
      if (disposition === null) continue
      const { status, text, body } = await raw(disposition, folder)
      assert.deepEqual([status, body.data?.name], [201, name], `${disposition}: ${text}`)
    }
  })

test('a file name that isn’t UTF-8 is rejected with the reason', async () => {
  const folder = (await alice.post('/drive/files/folders', { workspace_id: alice.workspaceId, name: 'bytes' })).body
    .data.id
  for (const disposition of [
    Buffer.from('filename="caf\xe9.txt"', 'latin1'),
    "filename*=UTF-8''caf%E9.txt",
    "filename*=UTF-8''50%.txt",
    "filename*=shift_jis''x.txt",
  ]) {
    const { status, body, text } = await raw(disposition, folder)
    assert.deepEqual([status, body.error?.param], [400, 'file'], text)
    assert.match(body.error.message, /UTF-8/)
  }
  const latin = await raw("filename*=ISO-8859-1''caf%E9.txt", folder)
  assert.deepEqual([latin.status, latin.body.data?.name], [201, 'caf\u00e9.txt'])
})

test('a name in decomposed letters equals the composed one, by every route', async () => {
  for (const [route, store] of Object.entries(routes)) {
    const folder = (await alice.post('/drive/files/folders', { workspace_id: alice.workspaceId, name: `${route} NFD` }))
      .body.data.id
    assert.ok((await store('Cafe\u0301.txt', folder)).status < 300, route)
    const { data } = (await alice.get(`/drive/files?parent_id=${folder}`)).body
    assert.deepEqual(
      data.map(({ name }: { name: string }) => name),
      ['Caf\u00e9.txt'],
      route,
    )
  }
})

for (const [route, store] of Object.entries(routes)) {
  test(`a file uploaded by ${route} keeps its name`, async () => {
    const folder = (await alice.post('/drive/files/folders', { workspace_id: alice.workspaceId, name: route })).body
      .data.id
    for (const name of NAMES) {
      const answer = await store(name, folder)
      assert.ok(answer.status < 300, `${name}: ${answer.text}`)
    }
    const { body } = await alice.get(`/drive/files?parent_id=${folder}&limit=100`)
    assert.deepEqual(body.data.map((row: { name: string }) => row.name).toSorted(), NAMES.toSorted())
  })

  test(`a name that isn't allowed is explained by ${route}`, async () => {
    const folder = (await alice.post('/drive/files/folders', { workspace_id: alice.workspaceId, name: `not ${route}` }))
      .body.data.id
    for (const name of ['a\nb.txt', 'a\rb.txt', 'a\tb.txt', '\u202egpj.exe', '..', 'x'.repeat(256)]) {
      const answer = await store(name, folder)
      assert.equal(answer.status, 400, `${JSON.stringify(name)}: ${answer.text}`)
      assert.match(answer.body.error.message, /must|may|at most/)
    }
  })
}

test('folders in a browser’s file name are removed', async () => {
  const folder = (await alice.post('/drive/files/folders', { workspace_id: alice.workspaceId, name: 'tree' })).body.data
    .id
  const answer = await routes['form']!('photos/2026/a\\b.jpg', folder)
  assert.deepEqual([answer.status, answer.body.data.name], [201, 'a\\b.jpg'])
})

test('a folder’s archive has names that Windows and macOS accept', async () => {
  const folder = (await alice.post('/drive/files/folders', { workspace_id: alice.workspaceId, name: 'export?' })).body
    .data.id
  for (const name of ['Budget.txt', 'budget.txt', '9:30 call.txt', 'why?.txt', 'nul.txt', 'end.'])
    await alice.post('/drive/files', { parent_id: folder, name, content: name })
  const inner = (await alice.post('/drive/files/folders', { parent_id: folder, name: 'AUX' })).body.data.id
  await alice.post('/drive/files', { parent_id: inner, name: 'a|b', content: 'inside' })
  const answer = await fetch(`${server.origin}/v1/drive/files/${folder}/archive`, { headers: alice.headers })
  const entries = await unzipped(Buffer.from(await answer.arrayBuffer()))
  assert.deepEqual(Object.keys(entries).toSorted(), [
    'export_/9_30 call.txt',
    'export_/Budget.txt',
    'export_/_AUX/',
    'export_/_AUX/a_b',
    'export_/_nul.txt',
    'export_/budget (2).txt',
    'export_/end_',
    'export_/why_.txt',
  ])
  assert.equal(entries['export_/_AUX/a_b'], 'inside')
  assert.deepEqual([entries['export_/Budget.txt'], entries['export_/budget (2).txt']], ['Budget.txt', 'budget.txt'])
})
