/** A server with endpoints, for the stories of the area `ai-gateway`. */
import assert from 'node:assert/strict'
import { pino } from 'pino'
import { type Caller, type Person, type TestServer, testServer } from '../server.ts'
import { startAnthropic } from '../vendors/anthropic/anthropic.ts'
import { startOllama } from '../vendors/ollama/ollama.ts'
import type { Vendor } from '../vendors/vendor.ts'

export const at = '/ai-gateway/provider-endpoints'
export const hello = (model: string, more: object = {}) => ({
  model,
  messages: [{ role: 'user', content: 'hello you' }],
  ...more,
})

/** Alice administers it; its own vendors are Anthropic by the environment and an Ollama that it finds. */
export interface House extends AsyncDisposable {
  server: TestServer
  alice: Person
  bob: Person
  anthropic: Vendor
  ollama: Vendor
  /** The lines of its log. */
  logged: string[]
}

export async function openHouse(): Promise<House> {
  const anthropic = await startAnthropic()
  const ollama = await startOllama()
  const logged: string[] = []
  const server = await testServer({
    log: pino({ level: 'debug' }, { write: (line: string) => void logged.push(line) }),
    environment: {
      UK_UPSTREAM_ALLOW: '127.0.0.1',
      OLLAMA_HOST: ollama.origin,
      ANTHROPIC_API_KEY: anthropic.key,
      ANTHROPIC_BASE_URL: anthropic.origin,
    },
  })
  return {
    server,
    alice: await server.person('Alice'),
    bob: await server.person('Bob'),
    anthropic,
    ollama,
    logged,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]()
      await anthropic[Symbol.asyncDispose]()
      await ollama[Symbol.asyncDispose]()
    },
  }
}

/** An endpoint of somebody's at a loopback vendor. */
export async function bring(who: Caller, vendor: Pick<Vendor, 'origin' | 'key'>, slug: string, more: object = {}) {
  const answer = await who.post(at, {
    name: slug,
    slug,
    shape: 'openai-chat',
    base_url: `${vendor.origin}/v1`,
    api_key: vendor.key,
    ...more,
  })
  assert.equal(answer.status, 201, answer.text)
  return answer.body.data
}

export const slugs = async (who: Caller, query = ''): Promise<string[]> =>
  (await who.get(`/models?limit=100${query}`)).body.data.map(({ slug }: { slug: string }) => slug)
