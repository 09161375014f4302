import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { implement } from '#infra/context.ts'
import { byScope } from '#core/access.ts'
import { area, endpoint, none } from '#core/contract.ts'
import { notesService } from '../mcp/notes.ts'
import { readableLog } from './readable-log.ts'
import { testServer } from '#test/server.ts'

test('a server fault is logged with its request ID and the client’s', async () => {
  const { log, lines } = readableLog()
  {
    await using server = await testServer({ log, services: [notesService().service] })
    const alice = await server.person('Alice')
    const answer = await alice.post('/notes/fail', {}, { 'x-client-request-id': 'mine-7' })
    assert.equal(answer.status, 500)
    const line = lines.find((one) => one.msg === 'a request failed')!
    assert.deepEqual([line.request_id, line.client_request_id], [answer.headers.get('x-request-id'), 'mine-7'])
  }
})

const waits = area(
  'waits',
  { title: 'Waits', summary: 'Of the tests.' },
  {
    wait: endpoint('POST /waits', {
      summary: 'Wait until the caller leaves',
      access: byScope('user:read'),
      reply: none,
    }),
  },
)

test('a caller who leaves the agent tool isn’t logged as a fault', async () => {
  const { log, lines } = readableLog()
  const waiting = Promise.withResolvers<void>()
  const service = implement(waits, {
    async wait({ signal }) {
      waiting.resolve()
      await sleep(60_000, undefined, { signal })
    },
  })
  {
    await using server = await testServer({ log, services: [service] })
    const alice = await server.person('Alice')
    const key = await alice.key()
    const controller = new AbortController()
    const call = fetch(new URL('/mcp', server.origin), {
      method: 'POST',
      signal: controller.signal,
      headers: { ...key.headers, 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'do', arguments: { name: 'waits.wait', input: {} } },
      }),
    }).then((answer) => answer.text())
    await waiting.promise
    controller.abort()
    await assert.rejects(call, { name: 'AbortError' })
  }
  assert.deepEqual(
    lines.filter(({ level }) => level === 'error'),
    [],
  )
})
