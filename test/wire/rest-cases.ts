import { newId } from '#core/ids.ts'
import type { Person } from '#test/server.ts'
import { type Asked, json } from './asked.ts'

const script = (...steps: object[]): string => JSON.stringify({ steps })
const fault = { error: { type: 'overloaded', message: 'no', status: 503 } }

/** REST in every status that it has, by a key of `person`. */
export async function restCases(person: Person, key: Record<string, string>): Promise<Asked[]> {
  const made = async (path: string, body: object): Promise<string> => (await person.post(path, body)).body.data.id
  const file = await made('/drive/files', {
    workspace_id: person.workspaceId,
    name: 'a.txt',
    content: 'hello'.repeat(9),
  })
  const large = await made('/drive/files', {
    workspace_id: person.workspaceId,
    name: 'b',
    content: 'x'.repeat(700_000),
  })
  const chat = await made('/chats', { title: 'Talk', model: 'sim/script' })
  const tag = (await person.get('/settings')).headers.get('etag')!
  const headers = { ...key, 'content-type': 'application/json' }
  const get = (target: string, more: Partial<Asked> = {}): Asked => ({
    method: 'GET',
    target: `/v1${target}`,
    ...more,
    headers: { ...key, ...more.headers },
  })
  const post = (target: string, body: object, more: Partial<Asked> = {}): Asked => ({
    method: 'POST',
    target: `/v1${target}`,
    ...json(body),
    ...more,
    headers: { ...headers, ...more.headers },
  })
  const said = (content: string) => ({ model: 'sim/script', messages: [{ role: 'user', content }] })
  const bytes = `/drive/files/${file}`
  const streams = [
    script({ text: 'one two' }),
    script(fault),
    script({ text: 'one two' }, fault),
    script({ text: 'x'.repeat(200_000) }),
    script({ delay_ms: 5 }, { text: 'late' }),
  ].flatMap((words) => [
    post('/inference/text/stream', said(words)),
    post(`/chats/${chat}/messages/stream`, { content: words }),
  ])
  return [
    get('/me', { status: 200 }),
    get('/me', { headers: { 'x-service-version': '1999-01-01' }, status: 400 }),
    get('/settings', { headers: { 'if-none-match': tag }, status: 304 }),
    { ...get('/settings', { headers: { 'if-none-match': tag } }), method: 'HEAD', status: 304 },
    { ...post('/settings', { theme: 'dark' }, { headers: { 'if-match': '"other"' } }), method: 'PATCH', status: 412 },
    post('/chats', { title: 'Made' }, { status: 201 }),
    post('/chats', { title: 'Made in pieces' }, { chunked: true, status: 201 }),
    post('/chats', { title: 'Expected' }, { headers: { expect: '100-continue' }, status: 201 }),
    post(
      '/chats',
      {},
      { headers: { expect: '100-continue', 'x-api-key': 'uk_nonsense', authorization: 'Bearer uk_x' }, status: 401 },
    ),
    post('/chats', {}, { headers: { expect: 'the unexpected' }, status: 201 }),
    post('/chats', {}, { headers: { 'content-type': 'text/plain' }, status: 415 }),
    post('/chats', {}, { body: '{"a":', status: 400 }),
    post('/chats', {}, { body: `"${'x'.repeat(1_100_000)}"`, status: 413 }),
    post('/chats', {}, { body: `"${'x'.repeat(1_100_000)}"`, chunked: true, status: 413 }),
    post(`/chats/${chat}/stop`, {}),
    post(`/chats/${newId()}/messages`, { content: 'x' }, { status: 404 }),
    post('/inference/text', said(script({ text: 'words' })), { status: 200 }),
    post('/inference/text', said(script(fault)), { status: 503 }),
    post('/inference/text', { ...said(script({ text: 'later' })), background: true }, { status: 202 }),
    get(bytes, { status: 200 }),
    { ...get(bytes), method: 'HEAD', status: 200 },
    get(bytes, { headers: { range: 'bytes=1-3' }, status: 206 }),
    { ...get(bytes, { headers: { range: 'bytes=1-3' } }), method: 'HEAD' },
    get(bytes, { headers: { range: 'bytes=0-1,3-4' } }),
    get(bytes, { headers: { range: 'bytes=999-' }, status: 416 }),
    get(`/drive/files/${large}`, { status: 200 }),
    get(`${bytes}/thumbnail`, {}),
    get(`/chats/${chat}/export?format=markdown`),
    get('/realtime/subscribe?channels=custom:x', {}),
    { ...get(`/realtime/subscribe?channels=user:${person.id}`), method: 'HEAD', status: 200 },
    ...['a', 'b'].map((q) => get(`/search?q=${q}`)),
    ...tus(person, key),
    ...streams,
    post('/inference/speech/stream', { model: 'sim/echo', input: 'x' }),
  ]
}

function tus(person: Person, key: Record<string, string>): Asked[] {
  const target = '/v1/drive/uploads'
  const about = `workspace_id ${Buffer.from(person.workspaceId).toString('base64')}`
  const tell = { ...key, 'tus-resumable': '1.0.0' }
  const create = { ...tell, 'upload-length': '5', 'upload-metadata': about }
  const append = { ...tell, 'content-type': 'application/offset+octet-stream' }
  return [
    { method: 'OPTIONS', target, status: 204 },
    { method: 'POST', target, headers: create, status: 201 },
    { method: 'POST', target, headers: { ...tell, 'upload-metadata': about }, status: 400 },
    { method: 'POST', target, headers: { ...create, ...append }, body: 'hello', status: 415 },
    { method: 'HEAD', target: `${target}/${newId()}`, headers: tell, status: 404 },
    {
      method: 'PATCH',
      target: `${target}/${newId()}`,
      headers: { ...append, 'upload-offset': '0' },
      body: 'hello',
      status: 404,
    },
  ]
}
