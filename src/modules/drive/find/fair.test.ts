import assert from 'node:assert/strict'
import { test } from 'node:test'
import { upload } from '#test/drive/drive.ts'
import { type Person, testServer } from '#test/server.ts'
import type { ScanTask } from '#infra/text/scan/scan.ts'

const query = (path: string, words: [string, string][]): string => `${path}?${new URLSearchParams(words).toString()}`

async function put(person: Person, parent: string | null, name: string, text: string): Promise<string> {
  const at = parent === null ? { workspace_id: person.workspaceId } : { parent_id: parent }
  const response = await upload(person, at, Buffer.from(text), name)
  assert.equal(response.status, 201, response.text)
  return response.body.data.id
}

/** A file in a folder for each name, one in another. */
async function putDeep(person: Person, names: readonly string[]): Promise<void> {
  let parent: string | null = null
  for (const name of names) {
    const at = parent === null ? { workspace_id: person.workspaceId } : { parent_id: parent }
    const response = await person.post('/drive/files/folders', { name, ...at })
    assert.equal(response.status, 201, response.text)
    parent = response.body.data.id
  }
  await put(person, parent, 'tea.txt', 'tea\n')
}

test('globs that take too much work for a long path are rejected with the reason, by REST and by tools', async () => {
  await using server = await testServer({ environment: { UK_LIMIT_WRITES: '0' } })
  const alice = await server.person('Alice')
  const key = await alice.key()
  await putDeep(
    alice,
    Array.from({ length: 16 }, () => 'a'.repeat(240)),
  )
  const glob = `!**/${'*a'.repeat(450)}b`
  const heavy = [glob, glob, glob, glob]
  const does = (name: string, input: object) =>
    key.post(
      '/mcp',
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'do', arguments: { name, input } } },
      { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-06-18' },
    )
  const ways: Record<string, (globs: string[]) => Promise<{ text: string }>> = {
    'GET /drive/glob': (globs) =>
      alice.get(
        query(
          '/drive/glob',
          globs.map((one) => ['pattern', one]),
        ),
      ),
    'GET /drive/grep': (globs) =>
      alice.get(query('/drive/grep', [['pattern', 'tea'], ...globs.map((one): [string, string] => ['glob', one])])),
    'drive.glob by a tool': (globs) => does('drive.glob', { pattern: globs }),
    'drive.grep by a tool': (globs) => does('drive.grep', { pattern: 'tea', glob: globs }),
  }
  for (const [way, search] of Object.entries(ways)) {
    const refused = (await search(heavy)).text
    assert.match(refused, /invalid_pattern/, way)
    assert.match(refused, /The glob `\*\*\/\*a\*a[^`]*…` takes too long to match/, way)
    for (const many of [`!${'**/'.repeat(200)}b`, `!${'x'.repeat(600)}`]) {
      const fine = (await search(Array.from({ length: 15 }, (_, i) => `${many}${i}`))).text
      assert.match(fine, /tea\.txt/, way)
    }
  }
})

test('searches of one account wait for their turn without delaying another account', async () => {
  await using server = await testServer()
  const [mallory, bob] = [await server.person('Mallory'), await server.person('Bob')]
  const hers = await put(mallory, null, 'a.txt', 'one line with tea\n')
  const his = await put(bob, null, 'a.txt', 'one line with tea\n')
  const { scanner } = server.app.engine
  // All that her account may run at once, until the barrier opens.
  const barrier = Promise.withResolvers<ScanTask>()
  const blockedScans = Array.from({ length: scanner.width }, () => scanner.scan(mallory.id, () => barrier.promise))
  const over: number[] = []
  const searches = (file: string): string[] => [
    '/drive/grep?pattern=t.a',
    '/drive/grep?pattern=t.a&multiline=true&totals=true',
    `/drive/files/${file}/content?pattern=t.a`,
  ]
  const pending = searches(hers).map((path) => mallory.get(path).then(({ status }) => over.push(status)))
  for (const path of searches(his)) {
    const answer = await bob.get(path)
    assert.equal(answer.status, 200, answer.text)
    assert.match(answer.text, /one line with tea/, path)
  }
  assert.deepEqual(over, [])
  barrier.resolve({
    spec: { pattern: 'x', case: 'sensitive', multiline: false, fixed: false },
    files: [],
    want: 'any',
    before: 0,
    after: 0,
    mostLines: 1,
    countAll: false,
  })
  await Promise.all([...blockedScans, ...pending])
  assert.deepEqual(over, [200, 200, 200])
})
