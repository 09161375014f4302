import assert from 'node:assert/strict'
import { test } from 'node:test'
import { open } from '#core/access.ts'
import * as c from '#core/contract.ts'
import { z } from 'zod'
import { lawRoutes } from './law-routes.ts'
import { compareRoutes } from './routes.ts'

test('the specification has 183 routes, each once', () => {
  assert.equal(lawRoutes.length, 183)
  assert.equal(new Set(lawRoutes).size, 183)
})

test('routes are matched by method and path, ignoring parameter names', () => {
  const one = c.one(z.object({}))
  const some = c.area(
    'workspaces',
    { title: '', summary: '' },
    {
      update_member: c.endpoint('PATCH /workspaces/:id/members/:member', {
        summary: '',
        access: open(),
        params: { member: z.string() },
        reply: one,
      }),
      list: c.endpoint('GET /workspaces', { summary: '', access: open(), reply: one }),
    },
  )
  const compared = new Map(
    compareRoutes([some], ['POST /compat-b/v1/messages']).map(({ route, served_by }) => [route, served_by]),
  )
  assert.equal(compared.get('PATCH /workspaces/:id/members/:memberId'), 'workspaces.update_member')
  assert.equal(compared.get('GET /workspaces'), 'workspaces.list')
  assert.equal(compared.get('POST /workspaces'), null)
  assert.equal(compared.get('POST {gateway_url}/compat-b/v1/messages'), 'gateway')
  assert.equal(compared.get('POST {gateway_url}/compat-a/v1/chat/completions'), null)
})
