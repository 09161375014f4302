/** The world of the chats' bench: our server with a vendor on loopback, its chats, and what its database says. */
import pg from 'pg'
import { startTestPostgres } from '../../test/database.ts'
import { type Ours, startOurs } from '../measure/ours.ts'
import { type Measurable, pin, startMeasurable } from '../measure/process.ts'

export const SERVER_CORE = 0
const LOAD_CORE = 1
const MODEL = 'openai/gpt-4o-mini'

export interface World extends AsyncDisposable {
  ours: Ours
  connection: pg.PoolConfig
  client: pg.Client
  key: Record<string, string>
  /** New chats, told what they are called. */
  chats(count: number): Promise<string[]>
  post(path: string, body: object): Promise<{ data: Record<string, string> }>
}

export async function startWorld(): Promise<World> {
  await using stack = new AsyncDisposableStack()
  // All that is started from here on is on this core too, but for the server.
  pin(process.pid, LOAD_CORE)
  const postgres = await startTestPostgres()
  stack.defer(() => postgres.stop())
  const connection = { ...postgres.connection, database: 'ukiyo_template' }
  const { user, password, host, port, database } = connection
  const vendor: Measurable = stack.use(
    await startMeasurable([process.execPath, 'bench/gateway/vendor.ts'], { ready: /ready (\d+)/ }),
  )
  const ours = stack.use(
    await startOurs(
      {
        DATABASE_URL: `postgres://${user}:${password as string}@localhost:${port}/${database}?host=${encodeURIComponent(host!)}`,
        OPENAI_API_KEY: 'sk-bench',
        OPENAI_BASE_URL: `http://127.0.0.1:${vendor.port}/v1`,
        UK_LIMIT_IN_FLIGHT: '0',
      },
      SERVER_CORE,
    ),
  )
  const client = new pg.Client(connection)
  await client.connect()
  stack.defer(() => client.end())
  const key = { authorization: `Bearer ${ours.key}` }
  const post = async (path: string, body: object) => {
    const response = await fetch(`${ours.origin}/v1${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...key },
      body: JSON.stringify(body),
    })
    if (!response.ok) throw new Error(`POST ${path}: ${response.status} ${await response.text()}`)
    return (await response.json()) as { data: Record<string, string> }
  }
  const started = stack.move()
  return {
    ours,
    connection,
    client,
    key,
    post,
    async chats(count) {
      const ids: string[] = []
      for (let i = 0; i < count; i++) ids.push((await post('/chats', { title: `Chat ${i}`, model: MODEL })).data['id']!)
      return ids
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

/** Words that tell the vendor to answer with so many, one each `pace` ms. */
export const asking = (events: number, pace: number): string => `${'x'.repeat(880)} events=${events} pace=${pace}`

/** The body of a completion that asks for the same through the gateway. */
export const completion = (events: number): string =>
  JSON.stringify({
    model: MODEL,
    stream: true,
    stream_options: { include_usage: true },
    messages: [{ role: 'user', content: asking(events, 0) }],
  })
