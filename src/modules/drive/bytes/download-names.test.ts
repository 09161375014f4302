import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testServer } from '#test/server.ts'

const NAMES = [
  'plan.txt',
  'plan "B" 50%.txt',
  'notes\\draft.txt',
  "it's (1) *new*!.txt",
  "UTF-8''x%20y.txt",
  'a;b="c", d=e.txt',
  'Grüße 请 日本語 😀.txt',
  ' spaces  in it .txt',
  '%22%0D%0A.txt',
]
/** RFC 8187, 3.2.1, and RFC 6266, 4.1. */
const ATTR_CHAR = String.raw`(?:%[0-9A-F]{2}|[A-Za-z0-9!#$&+.^_\`|~-])`
const FORM = new RegExp(
  String.raw`^(inline|attachment); filename="([\x20\x21\x23-\x5b\x5d-\x7e]*)"(?:; filename\*=UTF-8''(${ATTR_CHAR}+))?$`,
)

/** The name that a reader who knows RFC 6266 gives the file. */
function nameIn(field: string | null): string {
  const [, , plain, extended] = FORM.exec(field ?? '') ?? assert.fail(`not as RFC 6266 says: ${field}`)
  return extended === undefined ? plain! : decodeURIComponent(extended)
}

test('every way to download a file keeps its name', async () => {
  await using server = await testServer({ environment: { UK_LIMIT_WRITES: '0' } })
  const alice = await server.person('Alice')
  for (const name of NAMES) {
    const response = await alice.post('/drive/files', {
      workspace_id: alice.workspaceId,
      name,
      content: 'x',
      on_conflict: 'rename',
    })
    assert.equal(response.status, 201, response.text)
    const { id } = response.body.data
    const fieldOf = async (url: string, headers: Record<string, string>) =>
      (await fetch(new URL(url, server.origin), { headers })).headers.get('content-disposition')
    assert.equal(nameIn(await fieldOf(`/v1/drive/files/${id}`, alice.headers)), name)
    for (const disposition of ['inline', 'attachment']) {
      const signed = await alice.post(`/drive/files/${id}/signed-url`, { disposition })
      assert.ok(signed.status < 300, signed.text)
      assert.equal(nameIn(await fieldOf(signed.body.data.url, {})), name)
    }
  }
  for (const title of ["it's (1) new!", 'Grüße 请 😀', 'plain']) {
    const { id } = (await alice.post('/chats', { model: 'sim/echo', title })).body.data
    const { headers } = await alice.get(`/chats/${id}/export?format=markdown`)
    assert.equal(nameIn(headers.get('content-disposition')), `${title}.md`)
  }
})
