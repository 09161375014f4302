import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { type IncomingHttpHeaders, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { isSigned } from '#core/text/standard-webhooks.ts'
import { testServer } from '#test/server.ts'
import { until } from '#test/until.ts'

const program = fileURLToPath(new URL('../../../../bin/uk', import.meta.url))

test('alice forwards signed workspace events to a local program', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const { key } = await alice.key()
  const home = await mkdtemp(join(tmpdir(), 'uk-listen-'))
  const got: { headers: IncomingHttpHeaders; body: Buffer }[] = []
  const hook = createServer((request, response) => {
    const parts: Buffer[] = []
    request
      .on('data', (part: Buffer) => parts.push(part))
      .on('end', () => {
        got.push({ headers: request.headers, body: Buffer.concat(parts) })
        response.writeHead(204).end()
      })
  })
  await new Promise<void>((resolve) => void hook.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/hook`
  const env = { PATH: process.env.PATH!, HOME: home, UK_KEY: key, UK_ORIGIN: server.origin }
  const child = spawn(program, ['listen', '--forward', url, '--events', 'chat.*'], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
  try {
    await until(
      async () => said,
      (text) => text.includes('Listening for'),
    )
    await alice.post('/agents', { name: 'not wanted', model: 'sim/echo' })
    const { id } = (await alice.post('/chats', { title: 'Plans', model: 'sim/echo' })).body.data
    await until(
      async () => said,
      (text) => /chat\.created .*→ 204/.test(text),
    )
    const [first] = got
    const told = JSON.parse(first!.body.toString())
    assert.deepEqual(
      [got.length, told.type, told.workspace_id, told.resource],
      [1, 'chat.created', alice.workspaceId, { type: 'chat', id }],
    )
    assert.equal(told.id, first!.headers['webhook-id'])
    const secret = /whsec_\S+(?= \()/.exec(said)![0]
    const signed = {
      id: String(first!.headers['webhook-id']),
      timestamp: String(first!.headers['webhook-timestamp']),
      signature: String(first!.headers['webhook-signature']),
      body: first!.body,
    }
    assert.ok(isSigned(signed, [secret], new Date()))
    assert.ok(!isSigned({ ...signed, body: Buffer.from('{}') }, [secret], new Date()))
  } finally {
    child.kill('SIGINT')
    await once(child, 'close')
    hook.close()
    await rm(home, { recursive: true })
  }
  const typo = spawn(program, ['listen', '--events', 'chat.creatd'], { env, stdio: ['ignore', 'ignore', 'pipe'] })
  const why = Buffer.concat(await Array.fromAsync(typo.stderr as AsyncIterable<Buffer>)).toString()
  assert.match(why, /Unknown event "chat\.creatd"\.\nDid you mean `chat\.created`/)
})
