import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Measurable, descendants, pin, root, startMeasurable } from './process.ts'

/** Our server as a person starts it, with an account and a key. */
export interface Ours extends AsyncDisposable {
  server: Measurable
  origin: string
  key: string
  cookie: string
  dataDir: string
}

export async function startOurs(environment: Record<string, string> = {}, core?: number): Promise<Ours> {
  const dataDir = mkdtempSync(join(tmpdir(), 'ukiyo-bench-'))
  const server = await startOn(dataDir, environment, core)
  // Its database is not what is measured: it shares the other core with the load.
  if (core !== undefined) for (const pid of descendants(server.pid)) pin(pid, 1 - core)
  const origin = `http://127.0.0.1:${server.port}`
  const call = async (path: string, body: object, headers: Record<string, string>) => {
    const response = await fetch(`${origin}/v1${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-uk-csrf': '1', ...headers },
      body: JSON.stringify(body),
    })
    if (!response.ok) throw new Error(`POST ${path}: ${response.status} ${await response.text()}`)
    return response
  }
  const signUp = await call(
    '/auth/sign-up',
    { email: 'bench@example.com', password: 'a long password', name: 'Bench' },
    {},
  )
  const cookie = signUp.headers.get('set-cookie')!.split(';')[0]!
  const made = (await (await call('/api-keys', { name: 'bench', scopes: ['*'] }, { cookie })).json()) as {
    data: { key: string }
  }
  return {
    server,
    origin,
    key: made.data.key,
    cookie,
    dataDir,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

/** A key with a cap that is never reached: every call is held durably before it is sent. */
export async function cappedKey({ origin, cookie }: { origin: string; cookie: string }): Promise<string> {
  const response = await fetch(`${origin}/v1/api-keys`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-uk-csrf': '1', cookie },
    body: JSON.stringify({ name: 'capped', scopes: ['*'], spend_cap_usd: 1_000_000, spend_cap_period: 'total' }),
  })
  return ((await response.json()) as { data: { key: string } }).data.key
}

/** Limits off: what is measured is the work, not the refusal. */
export const startOn = (
  dataDir: string,
  environment: Record<string, string> = {},
  core?: number,
): Promise<Measurable> =>
  startMeasurable(['sh', join(root, 'bin/run'), 'src/main.ts'], {
    ready: /^ready http:\/\/127\.0\.0\.1:(\d+)$/m,
    environment: {
      UK_PORT: '0',
      UK_DATA_DIR: dataDir,
      OLLAMA_HOST: 'off',
      UK_LOCAL_ENGINES: 'off',
      UK_COMPUTER_DRIVERS: 'off',
      UK_LIMIT_READS: '1000000000',
      UK_LIMIT_WRITES: '1000000000',
      UK_LIMIT_INFERENCE: '1000000000',
      ...environment,
    },
    ...(core !== undefined && { core }),
  })
