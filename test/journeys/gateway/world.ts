import assert from 'node:assert/strict'
import type { CallTable } from '#infra/ledger/calls/tables.ts'
import { type Caller, type Person, type TestServer, testServer } from '../../server.ts'
import type { Vendor } from '../../vendors/vendor.ts'

/** A server with loopback providers, and a person with a key. */
export interface World extends AsyncDisposable {
  server: TestServer
  person: Person
  key: Caller & { key: string; keyId: string }
  /** Adds an endpoint of the person at this vendor; its slug names it. */
  bring(vendor: Pick<Vendor, 'origin' | 'key'>, slug: string, more?: object): Promise<{ id: string }>
  /** Returns the ledger's record of the call with this request ID, once it is durable. */
  record(id: string): Promise<CallTable>
  /** Returns all records, latest first. */
  calls(): Promise<CallTable[]>
}

export async function gatewayWorld(environment: Record<string, string> = {}): Promise<World> {
  return worldOn(await testServer({ environment: { UK_UPSTREAM_ALLOW: '127.0.0.0/8', ...environment } }))
}

/** The same on a server that the test has started itself. */
export async function worldOn(server: TestServer): Promise<World> {
  const person = await server.person('Ada')
  const key = await person.key()
  return {
    server,
    person,
    key,
    async bring(vendor, slug, more = {}) {
      const shape = 'openai-chat'
      const body = {
        name: slug,
        slug,
        shape,
        base_url: `${vendor.origin}/v1`,
        api_key: vendor.key,
        test: false,
        ...more,
      }
      const answer = await person.post('/ai-gateway/provider-endpoints', body)
      assert.equal(answer.status, 201, answer.text)
      return answer.body.data
    },
    async record(id) {
      const { ledger, postgres } = server.app.engine
      await ledger.flush()
      return postgres.db.selectFrom('calls').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
    },
    async calls() {
      const { ledger, postgres } = server.app.engine
      await ledger.flush()
      return postgres.db.selectFrom('calls').selectAll().orderBy('created_at', 'desc').orderBy('id', 'desc').execute()
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

export const userMessages = (content: string) => [{ role: 'user' as const, content }]
/** Prices of the test models, in USD per million. */
export const pricedModel = (id: string, more: object = {}) => ({ id, pricing: { input: 1, output: 2 }, ...more })
